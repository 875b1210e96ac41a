package io.kvasir.cell;

import io.kvasir.routing.Worker;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The state of a worker, as its cell's home describes it.
 *
 * @param worker the worker
 * @param cell its cell's name
 * @param health by probes, answers and its event stream
 * @param reason what is wrong with it, in words that follow its name, such as a model that it answers not to serve;
 *     empty while it is well
 * @param draining whether it finishes what it has and gets nothing new
 * @param load the requests it has
 * @param index what the index knows of its KV cache, and how reliably
 * @param events how its event stream comes along
 */
public record WorkerStatus(
    Worker worker, String cell, Health health, String reason, boolean draining, Load load, IndexState index,
    EventStream events) {
  /** Takes the status of a node of an earlier version, too. */
  public WorkerStatus {
    events = Objects.requireNonNullElse(events, EventStream.NONE);
  }

  /**
   * A worker's requests.
   *
   * @param inFlight requests booked on it
   * @param pendingTokens uncached prompt tokens whose first token has not been seen
   * @param report the load its engine reports
   * @param cost what its prompts cost, null while nothing is learnt, or from a node of an earlier version
   * @param work what its requests take
   */
  public record Load(
      int inFlight, long pendingTokens, EngineReport report, @Nullable PrefillCost cost, Work work) {
    /** Takes the load from a node of an earlier version, too. */
    public Load {
      work = Objects.requireNonNullElse(work, Work.NONE);
    }
  }

  /**
   * What the requests of a worker take. What is counted only goes up while the cell stays at its home, and begins anew
   * at the next.
   *
   * @param owedMs estimated milliseconds of prefill whose first token has not been seen
   * @param bookedMs estimated milliseconds of prefill of all its requests, counted
   * @param contextTokens prompt tokens of the requests in flight
   * @param answers answers that came whole, counted
   * @param answerTokens tokens that are expected of one
   */
  public record Work(double owedMs, double bookedMs, long contextTokens, long answers, double answerTokens) {
    /** None. */
    public static final Work NONE = new Work(0, 0, 0, 0, 0);
  }

  /**
   * The cost of prompts as it was learnt from times to first token of the worker's model on its engine.
   *
   * @param msPerToken milliseconds per prompt token computed
   * @param msPerPair milliseconds per pair of such a token and one before it
   * @param samples the times it was learnt from
   */
  public record PrefillCost(double msPerToken, double msPerPair, long samples) {}

  /**
   * What the index knows of a worker's KV cache.
   *
   * @param blocks KV blocks the index knows it holds
   * @param capacityBlocks KV blocks it has room for, as its pod is configured
   * @param predictedBlocks blocks it is believed to hold because of what it was sent, not confirmed by its engine
   * @param suspect whether events were lost and the index may be wrong
   * @param trust the trust in the index, 0 to 1: 1 while its responses confirm it
   * @param resyncs how often it was dropped and read again because it was wrong
   * @param lastSequence sequence number of its last event message, -1 before the first
   * @param promises how its answers compared with the index
   * @param speculation what a draft model makes of its prefix cache
   * @param blockSize tokens in a block as its events have it, 0 until one had it
   * @param parts blocks of a prompt in one of its own
   */
  public record IndexState(
      int blocks,
      int capacityBlocks,
      int predictedBlocks,
      boolean suspect,
      double trust,
      int resyncs,
      long lastSequence,
      Promises promises,
      Speculation speculation,
      int blockSize,
      int parts) {
    /** Takes the state of a node of an earlier version, too. */
    public IndexState {
      promises = Objects.requireNonNullElse(promises, Promises.NONE);
      speculation = Objects.requireNonNullElse(speculation, Speculation.NONE);
      parts = Math.max(1, parts);
    }
  }

  /**
   * What a draft model that reads hidden states, such as EAGLE or MTP, makes of an engine's prefix cache, as far as its
   * events and answers have shown.
   */
  public enum Speculation {
    /** Nothing. */
    NONE,
    /** The last block that is found is computed again. */
    RECOMPUTES_LAST_BLOCK,
    /** Blocks are shared only among prompts that go on alike. */
    LOOKAHEAD
  }

  /**
   * A worker's answers for which hits were predicted, since it joined.
   *
   * @param kept those that reported about as much cached as predicted
   * @param broken those that reported less
   */
  public record Promises(long kept, long broken) {
    /** No answers. */
    public static final Promises NONE = new Promises(0, 0);
  }

  /**
   * A worker's event stream. Counts are since the worker joined.
   *
   * @param source the kinds of its sources, such as {@code zmq}, joined by +; empty when it has none
   * @param connected whether the transport reaches the engine, as far as it knows
   * @param lagMillis how long after its publishing the last message was applied, by both clocks; -1 when unknown
   * @param appliedMillis when that was, milliseconds since the epoch by its home's clock; -1 before the first
   * @param gaps times that messages may have been missing
   * @param failures times the stream failed and was opened again
   * @param lastFault what went wrong last, null when nothing has
   */
  public record EventStream(
      String source,
      boolean connected,
      long lagMillis,
      long appliedMillis,
      long gaps,
      long failures,
      @Nullable String lastFault) {
    /** No event stream. */
    public static final EventStream NONE = new EventStream("", false, -1, -1, 0, 0, null);
  }

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
