package io.kvasir.scale;

/**
 * How many workers a target should have, where that {@link #isKnown}. Immutable.
 *
 * @param target what is sized
 * @param demand what its workers have to do
 * @param capacity what one of them can do
 * @param headroom the share of what its ready workers could generate at the pace to be kept that is free, 0 to 1
 * @param now workers that the demand of the last minute needs
 * @param ahead workers that are needed until one ordered now would serve, at least {@code now}
 * @param desired workers to have: {@code ahead}, or more while fewer have not done for long enough
 * @param reason why so many, in words
 * @param activity whether it may go without any worker
 */
public record ScaleAdvice(
    ScaleTarget target, FleetDemand demand, WorkerCapacity capacity, double headroom, int now, int ahead, int desired,
    String reason, Activity activity) {
  /** Takes what a node of an earlier version has worked out, too. */
  public ScaleAdvice {
    if (activity == null) {
      activity = demand == null || demand.isActive() ? Activity.ACTIVE : Activity.IDLE;
    }
  }

  /** Whether its numbers follow from what was seen: nobody is to go by others. */
  public boolean isKnown() {
    return activity != Activity.UNKNOWN;
  }

  /** Whether a target has anything to do. */
  public enum Activity {
    /** It has, or its workers have not been watched for long enough to say that they have not. */
    ACTIVE,
    /** It has not. */
    IDLE,
    /** None of its workers has been found, and they have not been looked for long enough to say that there are none. */
    UNKNOWN
  }
}
