package io.kvasir.lab;

import io.kvasir.enginemodel.Sequence;
import io.kvasir.routing.Booking;

/** A request on its engine. Blocks of the answer that are not in the trace have unique content. */
final class LabSequence extends Sequence {
  /** A listener for the progress of requests. */
  interface Listener {
    /** Called at the first token. */
    void firstToken(LabSequence sequence);

    /** Called at the last token. */
    void ended(LabSequence sequence);

    /** Called when tokens of the prompt have to be copied. */
    void load(LabSequence sequence, int tokens);
  }

  /** The part of the request that its engine computes. */
  enum RequestPhase {
    /** Everything. */
    WHOLE,
    /** Computes the prompt and keeps its blocks until they have been copied. */
    PREFILL,
    /** Copies the prompt's blocks, and generates. */
    DECODE
  }

  final int index;
  final int slot;
  final RequestPhase phase;
  private final LabRequest request;
  private final Booking booking;
  private final double queueMs;
  private final Listener listener;
  private final int remoteTokens;
  private boolean copied;
  private int sampled;

  /**
   * A request that has not started.
   *
   * @param index its position in the trace
   * @param slot the worker it was sent to
   * @param phase the part that worker computes
   * @param booking the load booked for it
   * @param queueMs the prefill booked there before it, in milliseconds
   * @param remoteTokens leading tokens of the prompt that are copied from another engine
   */
  LabSequence(
      int index,
      int slot,
      RequestPhase phase,
      LabRequest request,
      Booking booking,
      double queueMs,
      int remoteTokens,
      Listener listener) {
    super(request.promptTokens());
    this.index = index;
    this.slot = slot;
    this.phase = phase;
    this.request = request;
    this.booking = booking;
    this.queueMs = queueMs;
    this.remoteTokens = remoteTokens;
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
    BlockHashes chain = request.chain();
    // The high bit keeps answers apart from the numbers that traces give.
    return block < chain.length() ? chain.hash(block) : BlockHashes.hashOf(Long.MIN_VALUE | (long) index << 24 | block);
  }

  @Override
  protected int remoteTokens() {
    // After a preemption the prompt is computed here: a prefill engine has released it.
    return copied ? 0 : remoteTokens;
  }

  @Override
  protected void load(int from) {
    listener.load(this, remoteTokens() - from);
  }

  /** Whether blocks of the prompt were copied. */
  boolean isCopied() {
    return copied;
  }

  /** Notes that the prompt's blocks were copied. */
  void copied() {
    copied = true;
  }

  @Override
  protected boolean keepsBlocks() {
    return phase == RequestPhase.PREFILL;
  }

  @Override
  protected int plainSamples() {
    return phase == RequestPhase.PREFILL || sampled == 0 ? 0 : Math.max(0, request.outputTokens() - 1 - sampled);
  }

  @Override
  protected void samplePlain(int count) {
    super.samplePlain(count);
    sampled += count;
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
