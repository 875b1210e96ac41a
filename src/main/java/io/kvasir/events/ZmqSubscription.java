package io.kvasir.events;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.zeromq.SocketType;
import org.zeromq.ZMQ;
import org.zeromq.ZMQ.Socket;
import org.zeromq.ZMonitor;

/**
 * One subscription to one worker's events: reads its messages, decodes them, puts them in order and fills a queue.
 * Reading stops while the queue is full; ZMQ's buffers and then the engine's fill up, and what the engine drops shows
 * as a gap. Belongs to a loop's thread, but for {@link #signal}.
 */
final class ZmqSubscription
    implements ZmqLoop.Subscription, ZmqBinding.TopicSubscriber, ZmqReplay.ReplayOutput, ZmqSnapshot.SnapshotReader,
        SequencerOutput {
  private static final Logger LOG = LoggerFactory.getLogger(ZmqSubscription.class);
  private static final int BIND_TRIES = 20;
  private static final long BIND_PAUSE_MILLIS = 100;

  /** Pauses between tries to open a socket: want of file descriptors may last. */
  private static final long MIN_PAUSE_MILLIS = 100;

  private static final long MAX_PAUSE_MILLIS = 5_000;

  /** An engine plans and sends a million blocks within a second; the node may be busy with others. */
  private static final long LONGEST_SNAPSHOT_NANOS = 30_000_000_000L;

  private static final int MONITORED = ZMQ.EVENT_HANDSHAKE_PROTOCOL | ZMQ.EVENT_DISCONNECTED;
  private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);

  private final ZmqLoop loop;
  private final Map<String, ZmqBinding> bindings;
  private final ZmqEndpoints endpoints;
  private final BatchQueue queue;
  private final SnapshotSlots snapshotSlots;
  private final long replayIdleNanos;
  private final EventDecoder decoder = new EventDecoder();
  private final Sequencer sequencer;
  private final ConnectionState connection;
  private final Queue<Boolean> signals = new ConcurrentLinkedQueue<>();
  private @Nullable ZmqChannel sub;
  private @Nullable ZmqBinding binding;
  private @Nullable ZmqReplay replay;
  private @Nullable ZmqSnapshot snapshot;

  /** The snapshot that fills the queue: until there is room again it keeps others from being read. */
  private @Nullable ZmqSnapshot unloading;

  private boolean paused;
  private boolean closed;

  /** Why it is behind: a socket could not be opened, and since then something may be missing. */
  private @Nullable String behind;

  private long pauseMillis = MIN_PAUSE_MILLIS;

  /** Counts the rounds of replay, the snapshots and what cancels them: a later try knows by it whether it is wanted. */
  private long round;

  /** Makes the replay or snapshot under way anew, whose socket could not be opened. */
  private Runnable whenUnopened = () -> {};

  /**
   * A subscription that is not open yet.
   *
   * @param bindings the bound sockets, by endpoint; those of one endpoint are used on one loop's thread only
   * @param snapshotSlots the node's
   * @param last the position up to which another subscription has delivered, null for none
   */
  ZmqSubscription(
      ZmqLoop loop,
      Map<String, ZmqBinding> bindings,
      ZmqEndpoints endpoints,
      BatchQueue queue,
      SnapshotSlots snapshotSlots,
      long replayIdleNanos,
      @Nullable StreamPosition last) {
    this.loop = loop;
    this.bindings = bindings;
    this.endpoints = endpoints;
    this.queue = queue;
    this.snapshotSlots = snapshotSlots;
    this.replayIdleNanos = replayIdleNanos;
    this.connection = new ConnectionState(loop.metrics());
    this.sequencer = 
        new Sequencer(
            this, endpoints.replay() != null, endpoints.snapshot() != SnapshotFormat.NONE, endpoints.bind(),
            loop.metrics());
    if (last != null) {
      sequencer.resumeAfter(last);
    }
  }

  @Override
  public String topic() {
    return endpoints.topic();
  }

  void open() {
    if (loop.closing()) {
      end();
    }
    if (closed) {
      return;
    }
    loop.add(this);
    queue.onSpace(() -> loop.execute(this::resume, this::failed));
    if (endpoints.bind()) {
      bind(BIND_TRIES);
    } else {
      connect();
    }
  }

  /** Binds; tried again for a while, since a socket closed just before frees its address late. */
  private void bind(int tries) {
    if (closed) {
      return;
    }
    try {
      binding =
          bindings.computeIfAbsent(
              endpoints.endpoint(), endpoint -> new ZmqBinding(loop, endpoint, () -> bindings.remove(endpoint)));
      binding.add(this);
      // Engines that connect later show by their first message only: the history is requested at once.
      sequencer.connected();
    } catch (RuntimeException e) {
      if (tries > 1) {
        loop.executeAfter(BIND_PAUSE_MILLIS, () -> bind(tries - 1), this::failed);
      } else {
        failed(new IllegalStateException("cannot bind " + endpoints.endpoint() + ": " + e.getMessage(), e));
      }
    }
  }

  /** Connects; tried again until it can be. */
  private void connect() {
    if (closed) {
      return;
    }
    try {
      Socket socket = loop.socket(SocketType.SUB);
      sub = loop.channel(socket, this);
      socket.setRcvHWM(ZmqBinding.RECEIVE_HWM);
      socket.setEventHook(event -> signal(event.getEvent()), MONITORED);
      socket.subscribe(endpoints.topic());
      socket.connect(endpoints.endpoint());
      loop.serveSoon(sub);
      pauseMillis = MIN_PAUSE_MILLIS;
    } catch (RuntimeException failed) {
      if (sub != null) {
        loop.close(sub);
        sub = null;
      }
      if (behind == null) {
        sequencer.unreceivable();
      }
      retryAfter(endpoints.endpoint(), failed, this::connect);
    }
  }

  /** Notes that the stream is behind, and tries again after a growing pause what has failed. */
  private void retryAfter(String endpoint, RuntimeException failed, Runnable retry) {
    String reason = endpoint + ": " + rootCause(failed);
    if (behind == null) {
      LOG.warn("an event stream is behind: no socket can be opened to {}; trying again", reason);
      loop.metrics().behind(1);
    }
    behind = reason;
    loop.behind(this, reason);
    loop.executeAfter(pauseMillis, retry, this::failed);
    pauseMillis = Math.min(MAX_PAUSE_MILLIS, 2 * pauseMillis);
  }

  private void caughtUp() {
    if (behind != null) {
      behind = null;
      loop.metrics().behind(-1);
      loop.behind(this, null);
    }
  }

  private static String rootCause(Throwable failure) {
    Throwable root = failure;
    while (root.getCause() != null) {
      root = root.getCause();
    }
    return String.valueOf(root.getMessage());
  }

  /** Called on ZMQ's own thread. */
  private void signal(ZMonitor.Event event) {
    signals.add(event != ZMonitor.Event.DISCONNECTED);
    loop.execute(this::takeSignals, this::failed);
  }

  private void takeSignals() {
    for (Boolean up = signals.poll(); up != null && !closed; up = signals.poll()) {
      if (!connection.change(up)) {
        continue;
      }
      if (up) {
        deliver(KvBatch.ofStream(new KvEvent.Connected()), 0, false);
        sequencer.connected();
      } else {
        deliver(KvBatch.ofStream(new KvEvent.Disconnected()), 0, false);
        sequencer.disconnected();
      }
    }
  }

  /** Whether a live message may come now. */
  @Override
  public boolean ready() {
    paused = queue.full() || sequencer.full();
    return !paused;
  }

  /** Whether a replayed message may come now, also while live ones may not: they may wait for it. */
  @Override
  public boolean acceptsReplay() {
    return !queue.full();
  }

  /** A live message: topic, number, payload. */
  @Override
  public void message(byte[][] frames, int count) {
    if (!signals.isEmpty()) {
      // Changes of the connection before this message are taken into account first.
      takeSignals();
    }
    if (count != 3 || frames[1].length != Long.BYTES || (long) LONG.get(frames[1], 0) < 0) {
      loop.metrics().misframed();
      return;
    }
    if (binding != null && connection.change(true)) {
      deliver(KvBatch.ofStream(new KvEvent.Connected()), 0, false);
    }
    byte[] payload = frames[2];
    DecodedMessage decoded = decoder.decode((long) LONG.get(frames[1], 0), payload);
    loop.metrics().read(decoded);
    sequencer.live(decoded, payload.length);
  }

  @Override
  public void replayed(ZmqReplay from, long sequence, byte[] payload) {
    if (from != replay) {
      return;
    }
    pauseMillis = MIN_PAUSE_MILLIS;
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
  public void deliver(KvBatch batch, int bytes, boolean live) {
    if (behind != null && batch.events().stream().anyMatch(ZmqSubscription::endsGap)) {
      caughtUp();
    }
    queue.add(new BatchQueue.Item(batch, bytes, live));
  }

  /** Whether nothing can come any more that was missing before. */
  private static boolean endsGap(KvEvent event) {
    return event instanceof KvEvent.GapClosed || event instanceof KvEvent.GapAbandoned
        || event instanceof KvEvent.Restarted || event instanceof KvEvent.Snapshot;
  }

  @Override
  public void replay(long from) {
    endReplay();
    if (endpoints.replay() != null) {
      replay = new ZmqReplay(loop, endpoints.replay(), from, replayIdleNanos, this);
      whenUnopened = () -> replay(from);
      loop.begin(replay);
    }
  }

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
  public void replayUnopened(ZmqReplay unopened, RuntimeException why) {
    if (unopened == replay) {
      openAgainAfter(why);
    }
  }

  @Override
  public void snapshotUnopened(ZmqSnapshot unopened, RuntimeException why) {
    if (unopened == snapshot) {
      openAgainAfter(why);
    }
  }

  /** The sequencer is not told: to it the request is under way, and the gap open, until it can be made. */
  private void openAgainAfter(RuntimeException why) {
    endReplay();
    long wanted = round;
    Runnable again = whenUnopened;
    retryAfter(
        String.valueOf(endpoints.replay()),
        why,
        () -> {
          if (round == wanted && !closed) {
            again.run();
          }
        });
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

  /** What was read of a snapshot has left the queue, or most of it has. */
  private void unload() {
    ZmqSnapshot unloaded = unloading;
    unloading = null;
    if (unloaded != null) {
      unloaded.close();
    }
  }

  private void resume() {
    if (closed) {
      return;
    }
    if (unloading != null && !queue.full()) {
      unload();
    }
    if (replay != null && acceptsReplay()) {
      replay.resume();
    }
    if (!ready()) {
      return;
    }
    if (binding != null) {
      binding.resume();
    } else if (sub != null) {
      loop.resume(sub);
    }
  }

  /** Ends the subscription because it cannot go on. */
  @Override
  public void failed(RuntimeException why) {
    queue.end(why);
    close();
  }

  /** Ends the subscription because its loop ends: the transport is closed. */
  @Override
  public void end() {
    queue.end(null);
    close();
  }

  /** Releases everything; idempotent. */
  void close() {
    if (closed) {
      return;
    }
    closed = true;
    loop.remove(this);
    endReplay();
    unload();
    if (binding != null) {
      binding.remove(this);
    }
    if (sub != null) {
      loop.close(sub);
    }
    caughtUp();
    connection.close();
  }
}
