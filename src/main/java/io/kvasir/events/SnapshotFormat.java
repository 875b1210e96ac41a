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
  VLLM_50134
}
