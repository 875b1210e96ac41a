package io.kvasir.events;

import org.jspecify.annotations.Nullable;

/**
 * The input of one subscription whose transport has no replay: decodes payloads, puts numbered messages in order, and
 * fills the queue. One thread at a time, but for {@link #close}.
 */
final class Inbox implements SequencerOutput {
  private final BatchQueue queue;
  private final EventMetrics.SourceMetrics metrics;
  private final Sequencer sequencer;
  private final PayloadDecoder decoder = new PayloadDecoder();
  private final ConnectionState connection;
  private boolean complete = true;

  /** An empty inbox; numbers may begin at 0 or 1. */
  Inbox(BatchQueue queue, EventMetrics.SourceMetrics metrics) {
    this(queue, metrics, null);
  }

  /**
   * An inbox that resumes.
   *
   * @param last the position up to which another subscription has delivered, null for none
   */
  Inbox(BatchQueue queue, EventMetrics.SourceMetrics metrics, @Nullable StreamPosition last) {
    this.queue = queue;
    this.metrics = metrics;
    this.connection = new ConnectionState(metrics);
    this.sequencer = new Sequencer(this, false, false, true, metrics);
    if (last != null) {
      sequencer.resumeAfter(last);
    }
  }

  EventMetrics.SourceMetrics metrics() {
    return metrics;
  }

  /**
   * Notes that the transport is connected to the engine, or to the store of its events.
   *
   * @param resumed whether the transport continues where it stopped; if not, messages may have been missed
   */
  void connected(boolean resumed) {
    boolean first = !connection.connectedBefore();
    if (connection.change(true)) {
      emit(new KvEvent.Connected());
      if (first || !resumed) {
        sequencer.connected();
      }
    }
  }

  /** Notes that the connection is lost. */
  void disconnected() {
    if (connection.change(false)) {
      emit(new KvEvent.Disconnected());
    }
  }

  /** Notes that all messages that exist were delivered. */
  void caughtUp() {
    sequencer.caughtUp();
  }

  /** Notes that the engine, or the stored history of it, has restarted. */
  void restarted() {
    sequencer.restarted();
  }

  /** The number expected next. */
  long next() {
    return sequencer.next();
  }

  /** Whether nothing was lost since the engine began, or was last cleared. */
  boolean isComplete() {
    return complete;
  }

  /**
   * Takes a message.
   *
   * @param sequence its number by the transport, {@link KvBatch#UNSEQUENCED} for none; a number in the payload takes
   *     precedence
   */
  void message(long sequence, byte[] payload) {
    DecodedMessage decoded = decoder.decode(sequence, payload);
    metrics.read(decoded);
    message(decoded, payload.length);
  }

  /** Takes a message that has been decoded and counted. */
  void message(DecodedMessage decoded, int bytes) {
    if (decoded.batch().sequence() != KvBatch.UNSEQUENCED) {
      sequencer.live(decoded, bytes);
      return;
    }
    deliver(decoded.batch(), bytes, true);
    if (!decoded.intact()) {
      // Without a number it cannot be requested again: the worker stays suspect, as after any lost message.
      emit(new KvEvent.GapAbandoned(0, 0));
    }
    sequencer.caughtUp();
  }

  /** Ends the subscription. Any thread; idempotent. */
  void close() {
    connection.close();
  }

  private void emit(KvEvent event) {
    deliver(KvBatch.ofStream(event), 0, false);
  }

  @Override
  public void deliver(KvBatch batch, int bytes, boolean live) {
    for (KvEvent event : batch.events()) {
      switch (event) {
        case KvEvent.GapAbandoned _ -> complete = false;
        case KvEvent.Restarted _, KvEvent.Cleared _, KvEvent.Snapshot _ -> complete = true;
        default -> {}
      }
    }
    queue.add(new BatchQueue.Item(batch, bytes, live));
  }

  @Override
  public void replay(long from) {
    throw new IllegalStateException("a sequencer without replay requested one");
  }

  @Override
  public void snapshot() {
    throw new IllegalStateException("a sequencer without snapshots requested one");
  }

  @Override
  public void endReplay() {
    // There is none.
  }
}
