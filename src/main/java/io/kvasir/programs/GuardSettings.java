package io.kvasir.programs;

/**
 * The settings of a {@link ThrashGuard}. Shares are of what the workers can hold, all together.
 *
 * @param admitBelow share up to which programs that are not live are let in, 0 to 1
 * @param pauseAbove share above which idle programs are paused, {@code admitBelow} to 2
 * @param aliveMs milliseconds after a turn for which its program is expected back
 * @param longestWaitMs milliseconds after which a waiting turn goes whatever else holds
 * @param maxPrograms programs remembered at once; beyond these the one that was quiet for longest is forgotten
 */
public record GuardSettings(
    double admitBelow, double pauseAbove, long aliveMs, long longestWaitMs, int maxPrograms) {
  /** What serves agents well; the laboratory's page has the measurements. */
  public static final GuardSettings DEFAULT = new GuardSettings(0.75, 0.95, 90_000, 600_000, 10_000);

  /** Checks the ranges. */
  public GuardSettings {
    require(admitBelow > 0 && admitBelow <= 1, "admit-below", "more than 0 and at most 1", admitBelow);
    require(pauseAbove >= admitBelow && pauseAbove <= 2, "pause-above", "at least admit-below, at most 2", pauseAbove);
    require(aliveMs > 0, "alive", "more than 0 milliseconds", aliveMs);
    require(longestWaitMs > 0, "longest-wait", "more than 0 milliseconds", longestWaitMs);
    require(maxPrograms > 0, "max-programs", "at least 1", maxPrograms);
  }

  private static void require(boolean holds, String name, String range, Number is) {
    if (!holds) {
      throw new IllegalArgumentException(name + " must be " + range + ", is " + is);
    }
  }
}
