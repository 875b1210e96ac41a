package io.kvasir.execution.workflow;

import org.jspecify.annotations.Nullable;

/**
 * A watch on the prefill worker whose KV blocks a decode run waits for. Immutable.
 *
 * @param run the decode run's id
 * @param prefiller the prefill worker's id
 * @param looks how often it is looked for at most
 */
record PrefillerWatch(int run, String prefiller, int looks) {
  /** An answer that comes whole shows nothing before its end: after these the run is believed to have its blocks. */
  private static final int LOOKS_FOR_WHOLE_ANSWERS = 5;

  /** A watch that begins. */
  static PrefillerWatch of(int run, String prefiller, boolean stream) {
    return new PrefillerWatch(run, prefiller, stream ? Integer.MAX_VALUE : LOOKS_FOR_WHOLE_ANSWERS);
  }

  /** What is left after a look; null when that was the last. */
  @Nullable PrefillerWatch next() {
    return looks == 1 ? null : new PrefillerWatch(run, prefiller, looks - 1);
  }
}
