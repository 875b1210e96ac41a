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
  private final long tokens;
  private final T item;
  private boolean inQueue = true;

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
