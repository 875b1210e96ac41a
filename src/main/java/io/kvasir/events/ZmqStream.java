package io.kvasir.events;

import org.jspecify.annotations.Nullable;

/**
 * One worker's messages over ZMQ on their way into its queue: decodes them, puts them in order, and requests what is
 * missing by a round of replay or a snapshot, of which at most one is under way. Where its live messages come from is
 * its {@link LiveMessages}' business. Belongs to a loop's thread.
 */
final class ZmqStream implements ZmqReplay.ReplayOutput, ZmqSnapshot.SnapshotReader, SequencerOutput {
  /** An engine plans and sends a million blocks within a second; the node may be busy with others. */
  private static final long LONGEST_SNAPSHOT_NANOS = 30_000_000_000L;

  /** What reads the live messages of the stream. */
  interface LiveMessages {
    /** Reads on: the stream takes live messages again. */
    void readOn();

    /** Ends the stream, which cannot go on. */
    void failed(RuntimeException why);
  }

  private final ZmqLoop loop;
  private final ZmqEndpoints endpoints;
  private final BatchQueue queue;
  private final SnapshotSlots snapshotSlots;
  private final long replayIdleNanos;
  private final SocketRetries retries;
  private final LiveMessages liveMessages;
  private final EventDecoder decoder = new EventDecoder();
  private final Sequencer sequencer;
  private @Nullable ZmqReplay replay;
  private @Nullable ZmqSnapshot snapshot;

  /** The snapshot that fills the queue: until there is room again it keeps others from being read. */
  private @Nullable ZmqSnapshot unloading;

  private boolean paused;
  private boolean closed;

  /** Counts the rounds of replay, the snapshots and what cancels them: a later try knows by it whether it is wanted. */
  private long round;

  /** Makes the replay or snapshot under way anew, whose socket could not be opened. */
  private Runnable whenUnopened = () -> {};

  /**
   * A stream before its first message.
   *
   * @param snapshotSlots the node's
   * @param last the position up to which another subscription has delivered, null for none
   */
  ZmqStream(
      ZmqLoop loop,
      ZmqEndpoints endpoints,
      BatchQueue queue,
      SnapshotSlots snapshotSlots,
      long replayIdleNanos,
      SocketRetries retries,
      LiveMessages liveMessages,
      @Nullable StreamPosition last) {
    this.loop = loop;
    this.endpoints = endpoints;
    this.queue = queue;
    this.snapshotSlots = snapshotSlots;
    this.replayIdleNanos = replayIdleNanos;
    this.retries = retries;
    this.liveMessages = liveMessages;
    this.sequencer =
        new Sequencer(
            this, endpoints.replay() != null, endpoints.snapshot() != SnapshotFormat.NONE, endpoints.bind(),
            loop.metrics());
    if (last != null) {
      sequencer.resumeAfter(last);
    }
  }

  /** Delivers a change of the connection, which has no place in the order of the messages. */
  void deliver(KvEvent change) {
    deliver(KvBatch.ofStream(change), 0, false);
  }

  /** Notes that the transport is connected, or that engines can connect to it. */
  void connected() {
    sequencer.connected();
  }

  /** Notes that the transport is disconnected. */
  void disconnected() {
    sequencer.disconnected();
  }

  /** Notes that messages may be missed from now on, as nothing can be received. */
  void unreceivable() {
    sequencer.unreceivable();
  }

  /** Whether a live message may come now; where none may, {@link LiveMessages#readOn} is called once one may. */
  boolean ready() {
    paused = queue.full() || sequencer.full();
    return !paused;
  }

  /** Takes a live message. */
  void live(long sequence, byte[] payload) {
    DecodedMessage decoded = decoder.decode(sequence, payload);
    loop.metrics().read(decoded);
    sequencer.live(decoded, payload.length);
  }

  /** Goes on with what waits for room in the queue, as far as there is room. */
  void resume() {
    if (closed) {
      return;
    }
    if (unloading != null && !queue.full()) {
      unload();
    }
    if (replay != null && acceptsReplay()) {
      replay.resume();
    }
    if (ready()) {
      liveMessages.readOn();
    }
  }

  @Override
  public void deliver(KvBatch batch, int bytes, boolean live) {
    if (retries.isBehind() && batch.events().stream().anyMatch(ZmqStream::endsGap)) {
      retries.caughtUp();
    }
    queue.add(new BatchQueue.Item(batch, bytes, live));
  }

  /** Whether nothing can come any more that was missing before. */
  private static boolean endsGap(KvEvent event) {
    return event instanceof KvEvent.GapClosed || event instanceof KvEvent.GapAbandoned
        || event instanceof KvEvent.Restarted || event instanceof KvEvent.Snapshot;
  }

  // Replay.

  @Override
  public void replay(long from) {
    endReplay();
    if (endpoints.replay() != null) {
      replay = new ZmqReplay(loop, endpoints.replay(), from, replayIdleNanos, this);
      whenUnopened = () -> replay(from);
      loop.begin(replay);
    }
  }

  /** Whether a replayed message may come now, also while live ones may not: they may wait for it. */
  @Override
  public boolean acceptsReplay() {
    return !queue.full();
  }

  @Override
  public void replayed(ZmqReplay from, long sequence, byte[] payload) {
    if (from != replay) {
      return;
    }
    retries.opened();
    if (sequencer.needs(sequence)) {
      DecodedMessage decoded = decoder.decode(sequence, payload);
      loop.metrics().read(decoded);
      sequencer.replayed(decoded, payload.length);
    } else {
      sequencer.replayedDuplicate(sequence);
    }
    if (paused) {
      resume();
    }
  }

  @Override
  public void replayEnded(ZmqReplay ended, boolean marked) {
    if (ended == replay) {
      endReplay();
      sequencer.replayEnded(marked);
      resume();
    }
  }

  @Override
  public void replayUnreached(ZmqReplay ended) {
    if (ended == replay) {
      endReplay();
      sequencer.replayUnreached();
      resume();
    }
  }

  @Override
  public void replayUnopened(ZmqReplay unopened, RuntimeException why) {
    if (unopened == replay) {
      openAgainAfter(why);
    }
  }

  // Snapshots.

  @Override
  public void snapshot() {
    endReplay();
    String endpoint = endpoints.snapshots();
    if (endpoint != null) {
      snapshot =
          new ZmqSnapshot(
              loop, snapshotSlots, endpoints.snapshot().hasOwnEndpoint(), endpoint, replayIdleNanos,
              LONGEST_SNAPSHOT_NANOS, this);
      whenUnopened = this::snapshot;
      snapshot.begin();
    }
  }

  @Override
  public void snapshotRead(ZmqSnapshot request, EngineSnapshot read) {
    if (request == snapshot) {
      snapshot = null;
      unload();
      unloading = request;
      sequencer.snapshot(read);
      resume();
    }
  }

  @Override
  public void snapshotFailed(ZmqSnapshot request, boolean known, String why) {
    if (request == snapshot) {
      endReplay();
      sequencer.snapshotFailed(known, why);
      resume();
    }
  }

  @Override
  public void snapshotUnopened(ZmqSnapshot unopened, RuntimeException why) {
    if (unopened == snapshot) {
      openAgainAfter(why);
    }
  }

  /** What was read of a snapshot has left the queue, or most of it has. */
  private void unload() {
    ZmqSnapshot unloaded = unloading;
    unloading = null;
    if (unloaded != null) {
      unloaded.close();
    }
  }

  // Of both.

  /** The sequencer is not told: to it the request is under way, and the gap open, until it can be made. */
  private void openAgainAfter(RuntimeException why) {
    endReplay();
    long wanted = round;
    Runnable again = whenUnopened;
    retries.retryAfter(
        String.valueOf(endpoints.replay()),
        why,
        () -> {
          if (round == wanted && !closed) {
            again.run();
          }
        });
  }

  @Override
  public void endReplay() {
    round++;
    ZmqReplay ended = replay;
    replay = null;
    if (ended != null) {
      loop.end(ended);
    }
    ZmqSnapshot unread = snapshot;
    snapshot = null;
    if (unread != null) {
      unread.close();
    }
  }

  @Override
  public void failed(RuntimeException why) {
    liveMessages.failed(why);
  }

  /** Ends what is under way; nothing is requested any more. */
  void close() {
    closed = true;
    endReplay();
    unload();
  }
}
