package io.kvasir.events;

import org.jspecify.annotations.Nullable;

/**
 * One subscription's way from payloads to its queue, whatever transport brings them and keeps no replay of its own:
 * decodes, has what is numbered put in order, lets through what is not. One thread at a time.
 */
final class Inbox implements Sequencer.SequencerOutput {
  private final BatchQueue queue;
  private final EventMetrics.SourceMetrics metrics;
  private final Sequencer sequencer;
  private final PayloadDecoder decoder = new PayloadDecoder();
  private final ConnectionState connection;
  private boolean complete = true;

  /** An inbox that has nothing yet; numbers may begin at 0 or 1. */
  Inbox(BatchQueue queue, EventMetrics.SourceMetrics metrics) {
    this(queue, metrics, null);
  }

  /**
   * An inbox that goes on.
   *
   * @param last what has been delivered elsewhere, null when nothing has
   */
  Inbox(BatchQueue queue, EventMetrics.SourceMetrics metrics, @Nullable StreamPosition last) {
    this.queue = queue;
    this.metrics = metrics;
    this.connection = new ConnectionState(metrics);
    this.sequencer = new Sequencer(this, false, true, metrics);
    if (last != null) {
      sequencer.resumeAfter(last);
    }
  }

  EventMetrics.SourceMetrics metrics() {
    return metrics;
  }

  /**
   * The transport reaches the engine, or what keeps its events.
   *
   * @param resumed whether it goes on exactly where it stopped; if not, something may have been missed meanwhile
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

  /** The transport lost it. */
  void disconnected() {
    if (connection.change(false)) {
      emit(new KvEvent.Disconnected());
    }
  }

  /** Everything that there is was delivered. */
  void caughtUp() {
    sequencer.caughtUp();
  }

  /** The engine, or the history kept of it, began anew. */
  void restarted() {
    sequencer.restarted();
  }

  /** The number expected next. */
  long next() {
    return sequencer.next();
  }

  /** Whether nothing was lost since the engine began, or last told of everything anew. */
  boolean isComplete() {
    return complete;
  }

  /**
   * A message.
   *
   * @param sequence its number by the transport, {@link KvBatch#UNSEQUENCED} for none; a payload that names its own
   *     has that one
   */
  void message(long sequence, byte[] payload) {
    DecodedMessage decoded = decoder.decode(sequence, payload);
    metrics.read(decoded);
    message(decoded, payload.length);
  }

  /** A message that has been decoded and counted. */
  void message(DecodedMessage decoded, int bytes) {
    if (decoded.batch().sequence() != KvBatch.UNSEQUENCED) {
      sequencer.live(decoded, bytes);
      return;
    }
    deliver(decoded.batch(), bytes, true);
    if (!decoded.intact()) {
      // Without a number there is nothing to ask for again: the worker stays in doubt, as after any lost message.
      emit(new KvEvent.GapAbandoned(0, 0));
    }
    sequencer.caughtUp();
  }

  /** The subscription is over. */
  void close() {
    boolean _ = connection.change(false);
  }

  private void emit(KvEvent event) {
    deliver(KvBatch.ofStream(event), 0, false);
  }

  @Override
  public void deliver(KvBatch batch, int bytes, boolean live) {
    for (KvEvent event : batch.events()) {
      switch (event) {
        case KvEvent.GapAbandoned _ -> complete = false;
        case KvEvent.Restarted _, KvEvent.Cleared _ -> complete = true;
        default -> {}
      }
    }
    queue.add(new BatchQueue.Item(batch, bytes, live));
  }

  @Override
  public void replay(long from) {
    throw new IllegalStateException("a sequencer that cannot replay asked for one");
  }

  @Override
  public void endReplay() {
    // There is none.
  }
}
