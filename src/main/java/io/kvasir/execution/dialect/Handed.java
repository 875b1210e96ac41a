package io.kvasir.execution.dialect;

/** What a prefill worker's answer means for the decode worker. */
public sealed interface Handed {
  /**
   * The decode worker finds the prompt's blocks at the prefill worker.
   *
   * @param answer the prefill worker's answer, as it came
   */
  record Blocks(JsonMembers answer) implements Handed {
    /** Where the engines find each other without the answer. */
    public static final Blocks UNSEEN = new Blocks(JsonMembers.empty());
  }

  /**
   * Nothing was kept: the decode worker reads the prompt itself.
   *
   * @param why in a few words
   */
  record Nothing(String why) implements Handed {}

  /**
   * There is nothing left to generate.
   *
   * @param body the complete answer in the client's form
   * @param events whether that is an event stream
   */
  record Answer(byte[] body, boolean events) implements Handed {}
}
