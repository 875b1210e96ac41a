package io.kvasir.cell.worker;

/**
 * Whether an engine computes the last block of what it holds of a prompt again. vLLM does so where it speculates with
 * EAGLE or MTP, whose draft models need what only computing gives them ({@code drop_eagle_block} of its {@code
 * v1/core/single_type_kv_cache_manager.py}; from 0.33 on only beside a KV connector). Neither its API nor its events
 * tell, so its answers do: some in a row that have found exactly one block less than was held.
 *
 * <p>Thread-safe.
 */
final class LastBlock {
  /** Answers in a row that show it. */
  private static final int ANSWERS = 3;

  private final ChangeCounter changes;
  private volatile boolean recomputed;
  private int contrary;

  /** Without any answers yet. What they show counts in {@code revision}. */
  LastBlock(ChangeCounter revision) {
    this.changes = revision;
  }

  /** Whether it computes that again. */
  boolean isRecomputed() {
    return recomputed;
  }

  /**
   * Takes an answer into account.
   *
   * @param held tokens that the engine had reported to hold of its prompt, whole blocks
   * @param found tokens that it has not computed
   * @return whether it shows something else than before
   */
  synchronized boolean answered(int held, int found, int blockSize) {
    boolean shorter = found == held - blockSize;
    if (shorter || found == held) {
      contrary = shorter == recomputed ? 0 : contrary + 1;
    }
    if (contrary < ANSWERS) {
      return false;
    }
    contrary = 0;
    recomputed = !recomputed;
    changes.increment();
    return true;
  }
}
