package io.kvasir.events;

/**
 * How an engine is asked for its whole KV state at once. None is in a released engine yet: each is named after the
 * proposal it was read from, and another draft of it is another constant.
 */
public enum SnapshotFormat {
  /** It is not asked. */
  NONE,
  /**
   * vLLM's pull request 50134 (read in September 2026): {@code snapshot} instead of a number on the replay socket, and
   * in reply messages like those of a replay, all under the number of the live message to go on with. Their events are
   * an {@code AllBlocksCleared}, the stores of all blocks, parents first, and the removals of those that are only there
   * for what follows them.
   */
  VLLM_50134,
  /**
   * vLLM's pull request 57789 (read in November 2026): {@code snapshot} to a socket of its own, and in reply one
   * message of the number of the last live message that is in it (−1: none has been, −2: there is no snapshot now), 16
   * bytes that name the publisher as long as it lives, and the state in messages like live ones: the stores of all
   * blocks, parents first, the removals of those that are only there for what follows them, and then copies without
   * tokens and removals until each block has as many as the engine counts. Live messages name their publisher, too, and
   * one without events comes each second in which nothing happens.
   */
  VLLM_57789;

  /** Whether it is asked for at a socket of its own, and not at that of the replay. */
  public boolean hasOwnEndpoint() {
    return this == VLLM_57789;
  }
}
