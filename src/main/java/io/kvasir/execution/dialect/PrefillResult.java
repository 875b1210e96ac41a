package io.kvasir.execution.dialect;

/** What a prefill worker's response means for decode. */
public sealed interface PrefillResult {
  /**
   * The decode worker finds the prompt's blocks at the prefill worker.
   *
   * @param answer the prefill worker's answer, as it came
   */
  record KvBlocks(JsonMembers answer) implements PrefillResult {
    /** Where the engines find each other without the answer. */
    public static final KvBlocks NOT_AWAITED = new KvBlocks(JsonMembers.empty());
  }

  /**
   * Nothing was kept: the decode worker reads the prompt itself.
   *
   * @param why in a few words
   */
  record NoBlocks(String why) implements PrefillResult {}

  /**
   * There is nothing left to generate.
   *
   * @param body the complete answer in the client's form
   * @param events whether that is an event stream
   */
  record FinalAnswer(byte[] body, boolean events) implements PrefillResult {}
}
