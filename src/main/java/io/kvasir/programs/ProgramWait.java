package io.kvasir.programs;

/**
 * The wait of a program.
 *
 * @param rank 0 for one whose prefix a worker still holds, 1 for another one that was paused, 2 for a new one
 * @param tokens of its own that it would have
 * @param sinceMs when it began
 * @param offeredMs when its turn was last offered
 */
record ProgramWait(String program, int rank, int tokens, long sinceMs, long offeredMs)
    implements Comparable<ProgramWait> {
  @Override
  public int compareTo(ProgramWait other) {
    int order = Integer.compare(rank, other.rank);
    order = order != 0 ? order : Long.compare(sinceMs, other.sinceMs);
    return order != 0 ? order : program.compareTo(other.program);
  }

  /** The turn is offered no more: its client has left. */
  boolean hasLeft(long nowMs) {
    return nowMs - offeredMs > ThrashGuard.LEFT_MS;
  }
}
