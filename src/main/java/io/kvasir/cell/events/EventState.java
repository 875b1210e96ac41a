package io.kvasir.cell.events;

/**
 * What has come of a worker's events, as decisions read it: whether the index is right, and counts of what was applied
 * and what was not. Counts are since the worker joined; a restart of its engine does not reset them.
 *
 * @param lastSequence number of the last message applied, -1 before the first and after a restart
 * @param suspectSince when it became uncertain that the index is right, as handed to
 *     {@link EventApplier#apply}; {@link #CERTAIN} while nothing was missed
 * @param connected whether the transport reaches the engine, as far as it knows
 * @param blockSize tokens in a block as the events have it, 0 until one had it; when the worker is configured with
 *     another, prompts must be cut to this size or nothing will be found
 * @param parts into how many smaller ones each is cut for the index, as prompts are; 1 as they are
 * @param onceComputed whether the engine shares a prompt's blocks only once it has computed them, as its last store
 *     shows
 * @param parked events that wait for their parent block
 * @param applied stores and removals that reached the index
 * @param evicted blocks the engine gave up that the index had, of a hybrid model's groups too
 * @param restored blocks it stored though the index had them: some were there twice, or were removed without an event
 * @param refused blocks the index could not take within its memory budget
 * @param ignored events that were left out on purpose, by reason
 */
public record EventState(
    long lastSequence,
    long suspectSince,
    boolean connected,
    int blockSize,
    int parts,
    boolean onceComputed,
    int parked,
    long applied,
    long evicted,
    long restored,
    long refused,
    Ignored ignored) {
  /** {@link #suspectSince} of a worker whose index is known to be right. */
  static final long CERTAIN = -1;

  public static final EventState START =
      new EventState(-1, CERTAIN, false, 0, 1, false, 0, 0, 0, 0, 0, new Ignored(0, 0, 0, 0, 0, 0));

  /** Whether events were missed and the index may be wrong. */
  public boolean suspect() {
    return suspectSince != CERTAIN;
  }

  /**
   * Whether events may have removed blocks that were held at an earlier moment: at least as many were removed since,
   * and they were not stored again over what the index still had.
   */
  public boolean evictedSince(int blocks, EventState earlier) {
    return evicted - earlier.evicted >= blocks && restored - earlier.restored < blocks;
  }

  /** Whether any block was removed since an earlier moment. */
  public boolean anyEvictedSince(EventState earlier) {
    return evicted != earlier.evicted;
  }

  /**
   * Counts of events that do not describe whole prefix blocks.
   *
   * @param otherGroup of a KV cache group that is not followed: of a kind whose needs are not known, or on another tier
   * @param partial of a block that is not full yet
   * @param placeholder without tokens, of blocks of which nothing is known
   * @param unassignable whose tokens do not match their blocks, since the engine skipped some
   * @param otherBlockSize of another cache's blocks, such as an offloading connector's chunks
   * @param orphans whose parent never came while there was room to wait
   */
  public record Ignored(
      long otherGroup, long partial, long placeholder, long unassignable, long otherBlockSize, long orphans) {}
}
