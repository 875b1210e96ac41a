package io.kvasir.events;

/** The result of pushing a body, which is taken whole or not at all. */
public sealed interface PushResult {
  /**
   * The body was taken; batches taken before were left out.
   *
   * @param batches how many batches there were
   * @param next the number expected next, of a numbered stream
   * @param complete whether nothing is missing since the engine began; if not, an {@code AllBlocksCleared} and a
   *     {@code BlockStored} of all blocks it holds, pushed under the next number, make it so
   */
  record Accepted(int batches, long next, boolean complete) implements PushResult {}

  /** The queue is full: the body should be pushed again a little later. */
  record Full() implements PushResult {}

  /** This node has no subscription for the worker. */
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
