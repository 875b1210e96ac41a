package io.kvasir.cell;

import io.kvasir.routing.Worker;

/**
 * The state of a worker, as its cell's home describes it.
 *
 * @param worker the worker
 * @param cell its cell's name
 * @param health by probes, answers and its event stream
 * @param reason what is wrong with it, in words that follow its name; empty while it is healthy
 * @param draining whether it finishes what it has and gets nothing new
 * @param load the requests it has
 * @param index what the index knows of its KV cache, and how reliably
 */
public record WorkerStatus(
    Worker worker, String cell, Health health, String reason, boolean draining, Load load, IndexState index) {
  /**
   * A worker's requests.
   *
   * @param inFlight requests booked on it
   * @param pendingTokens uncached prompt tokens whose first token has not been seen
   * @param report the load its engine reports
   */
  public record Load(int inFlight, long pendingTokens, EngineReport report) {}

  /**
   * What the index knows of a worker's KV cache.
   *
   * @param blocks KV blocks the index knows it holds
   * @param predictedBlocks blocks it is believed to hold because of what it was sent, not confirmed by its engine
   * @param suspect whether events were lost and the index may be wrong
   * @param trust the trust in the index, 0 to 1: 1 while its responses confirm it
   * @param resyncs how often it was dropped and read again because it was wrong
   * @param lastSequence sequence number of its last event message, -1 before the first
   */
  public record IndexState(
      int blocks, int predictedBlocks, boolean suspect, double trust, int resyncs, long lastSequence) {}

  /** Whether requests may go to a worker. */
  public enum Health {
    /** Not known yet: gets nothing until it has answered once. */
    UNKNOWN,
    /** Answers. */
    HEALTHY,
    /** Does not answer, or its circuit is open: gets nothing until a probe succeeds. */
    UNHEALTHY,
    /** Has requests and does not move: gets nothing until it does. */
    WEDGED
  }
}
