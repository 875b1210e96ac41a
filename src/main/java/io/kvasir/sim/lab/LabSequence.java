package io.kvasir.sim.lab;

import io.kvasir.routing.Booking;
import io.kvasir.sim.engine.Sequence;

/** A request on its engine. What a trace does not know of an answer is content nobody else has. */
final class LabSequence extends Sequence {
  /** Hears what becomes of requests. */
  interface Listener {
    /** The first token is there. */
    void firstToken(LabSequence sequence);

    /** The last token is there. */
    void ended(LabSequence sequence);
  }

  final int index;
  final int slot;
  private final LabRequest request;
  private final Booking booking;
  private final double queueMs;
  private final Listener listener;
  private int sampled;

  /**
   * A request not yet begun.
   *
   * @param index its position in the trace
   * @param slot the worker it was sent to
   * @param booking the load booked for it
   * @param queueMs what had been booked there before, in milliseconds
   */
  LabSequence(int index, int slot, LabRequest request, Booking booking, double queueMs, Listener listener) {
    super(request.promptTokens());
    this.index = index;
    this.slot = slot;
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
    return block < chain.length ? chain[block] : Trace.hash(Long.MIN_VALUE | (long) index << 24 | block);
  }

  @Override
  protected boolean sample() {
    sampled++;
    if (sampled == 1) {
      listener.firstToken(this);
    }
    if (sampled == request.outputTokens()) {
      listener.ended(this);
      return true;
    }
    grow();
    return false;
  }
}
