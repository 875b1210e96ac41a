package io.kvasir.admission;

/**
 * A request in a {@link FairQueue}, in the order of arrival. Guarded by whatever guards the queue.
 *
 * @param <T> what waits
 */
final class Waiting<T> implements Comparable<Waiting<T>> {
  private final Claim claim;
  private final long arrivalNanos;
  private final long number;
  private final T item;
  private long tokens;
  private boolean inQueue = true;
  private boolean alone;
  private long restsUntilNanos;
  private long triedIn;
  private HoldReason reason = HoldReason.TURN;

  /**
   * A request that has begun to wait.
   *
   * @param number orders those of the same arrival
   * @param tokens that its worker will have to compute, as far as is known
   */
  Waiting(Claim claim, long arrivalNanos, long number, long tokens, T item) {
    this.claim = claim;
    this.arrivalNanos = arrivalNanos;
    this.number = number;
    this.tokens = tokens;
    this.item = item;
  }

  Claim claim() {
    return claim;
  }

  long arrivalNanos() {
    return arrivalNanos;
  }

  long tokens() {
    return tokens;
  }

  /** What it waits for, as was found when it was last tried. */
  HoldReason reason() {
    return reason;
  }

  void heldFor(HoldReason found) {
    reason = found;
  }

  /**
   * It waits for a reason of its own, and is passed over until a time, and in any case in the round of attempts in
   * which it was tried, so that the round ends. What it will compute is in nobody's way.
   */
  void rest(long untilNanos, long attempts) {
    alone = true;
    triedIn = attempts;
    restsUntilNanos = untilNanos;
    tokens = 0;
  }

  /** It waits for what the others wait for. */
  void queueUp() {
    alone = false;
  }

  /** Whether it waits for a reason of its own, as was found when it was last tried. */
  boolean isAlone() {
    return alone;
  }

  /** Whether it is passed over. */
  boolean isResting(long nowNanos, long attempts) {
    return alone && (triedIn == attempts || nowNanos - restsUntilNanos < 0);
  }

  T item() {
    return item;
  }

  /** Whether it still waits. */
  boolean isInQueue() {
    return inQueue;
  }

  void removed() {
    inQueue = false;
  }

  @Override
  public int compareTo(Waiting<T> other) {
    int byArrival = Long.signum(arrivalNanos - other.arrivalNanos);
    return byArrival != 0 ? byArrival : Long.compare(number, other.number);
  }
}
