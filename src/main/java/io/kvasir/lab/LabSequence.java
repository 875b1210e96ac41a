package io.kvasir.lab;

import io.kvasir.lab.engine.Sequence;
import io.kvasir.routing.Booking;

/** A request on its engine. What a trace does not know of an answer is content nobody else has. */
final class LabSequence extends Sequence {
  /** Hears what becomes of requests. */
  interface Listener {
    /** The first token is there. */
    void firstToken(LabSequence sequence);

    /** The last token is there. */
    void ended(LabSequence sequence);

    /** All but the first {@code from} tokens of the prompt are to be copied. */
    void load(LabSequence sequence, int from);
  }

  /** What of the request its engine does. */
  enum RequestPhase {
    /** Everything. */
    WHOLE,
    /** Reads the prompt, keeps it until it has been copied, and answers nobody. */
    PREFILL,
    /** Copies what was read, and generates. */
    DECODE
  }

  final int index;
  final int slot;
  final RequestPhase phase;
  private final LabRequest request;
  private final Booking booking;
  private final double queueMs;
  private final Listener listener;
  private boolean copied;
  private int sampled;

  /**
   * A request not yet begun.
   *
   * @param index its position in the trace
   * @param slot the worker it was sent to
   * @param leg what that worker does
   * @param booking the load booked for it
   * @param queueMs what had been booked there before, in milliseconds
   */
  LabSequence(
      int index, int slot, RequestPhase leg, LabRequest request, Booking booking, double queueMs, Listener listener) {
    super(request.promptTokens());
    this.index = index;
    this.slot = slot;
    this.phase = leg;
    this.request = request;
    this.booking = booking;
    this.queueMs = queueMs;
    this.listener = listener;
  }

  LabRequest request() {
    return request;
  }

  Booking booking() {
    return booking;
  }

  double queueMs() {
    return queueMs;
  }

  @Override
  protected long key(int block) {
    long[] chain = request.chain();
    // The high bit keeps answers apart from the numbers that traces give.
    return block < chain.length ? chain[block] : WorkloadTrace.hash(Long.MIN_VALUE | (long) index << 24 | block);
  }

  @Override
  protected int remoteTokens() {
    // What was preempted after it was copied is computed anew: the prefill engine has forgotten it.
    return phase == RequestPhase.DECODE && !copied ? request.promptTokens() : 0;
  }

  @Override
  protected void load(int from) {
    listener.load(this, from);
  }

  /** What it was to copy is there. */
  void copied() {
    copied = true;
  }

  @Override
  protected boolean keepsBlocks() {
    return phase == RequestPhase.PREFILL;
  }

  @Override
  protected boolean sample() {
    sampled++;
    if (sampled == 1) {
      listener.firstToken(this);
    }
    if (sampled == (phase == RequestPhase.PREFILL ? 1 : request.outputTokens())) {
      listener.ended(this);
      return true;
    }
    grow();
    return false;
  }
}
