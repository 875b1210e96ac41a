package io.kvasir.events;

/** What became of a pushed body. It is taken whole or not at all. */
public sealed interface PushResult {
  /**
   * Everything was taken; what had been taken before was left out.
   *
   * @param batches how many batches there were
   * @param next the number expected next, of a numbered stream
   * @param complete whether nothing is missing since the engine began; if not, an {@code AllBlocksCleared} and a
   *     {@code BlockStored} of everything it holds, pushed under the next number, mend it
   */
  record Accepted(int batches, long next, boolean complete) implements PushResult {}

  /** The queue is full: to be pushed again in a moment. */
  record Full() implements PushResult {}

  /** Nobody here reads what is pushed for this worker. */
  record NotSubscribed() implements PushResult {}

  /** The key is missing or wrong. */
  record Forbidden() implements PushResult {}

  /**
   * The body cannot be read.
   *
   * @param line of an NDJSON body, of a msgpack one the batch; from 1
   * @param what is wrong, naming the field
   */
  record Malformed(int line, String what) implements PushResult {}
}
