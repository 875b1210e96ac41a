package io.kvasir.events;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.jspecify.annotations.Nullable;
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
    implements ZmqBinding.TopicSubscriber, ZmqReplay.ReplayOutput, Sequencer.SequencerOutput {
  private static final int BIND_TRIES = 20;
  private static final long BIND_PAUSE_MILLIS = 100;
  private static final int MONITORED = ZMQ.EVENT_HANDSHAKE_PROTOCOL | ZMQ.EVENT_DISCONNECTED;
  private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);

  private final ZmqLoop loop;
  private final Map<String, ZmqBinding> bindings;
  private final Runnable end = this::end;
  private final ZmqEndpoints endpoints;
  private final BatchQueue queue;
  private final long replayIdleNanos;
  private final EventDecoder decoder = new EventDecoder();
  private final Sequencer sequencer;
  private final ConnectionState connection;
  private final Queue<Boolean> signals = new ConcurrentLinkedQueue<>();
  private @Nullable ZmqChannel sub;
  private @Nullable ZmqBinding binding;
  private @Nullable ZmqReplay replay;
  private boolean paused;
  private boolean closed;

  /**
   * A subscription that is not open yet.
   *
   * @param bindings the bound sockets, by endpoint; those of one endpoint are used on one loop's thread only
   * @param last the position up to which another subscription has delivered, null for none
   */
  ZmqSubscription(
      ZmqLoop loop,
      Map<String, ZmqBinding> bindings,
      ZmqEndpoints endpoints,
      BatchQueue queue,
      long replayIdleNanos,
      @Nullable StreamPosition last) {
    this.loop = loop;
    this.bindings = bindings;
    this.endpoints = endpoints;
    this.queue = queue;
    this.replayIdleNanos = replayIdleNanos;
    this.connection = new ConnectionState(loop.metrics());
    this.sequencer = new Sequencer(this, endpoints.replay() != null, endpoints.bind(), loop.metrics());
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
    loop.onShutdown(end);
    queue.onSpace(() -> loop.execute(this::resume));
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
      // Engines that connect later are not noticed here: the history is requested at once.
      sequencer.connected();
    } catch (RuntimeException e) {
      if (tries > 1) {
        loop.executeAfter(BIND_PAUSE_MILLIS, () -> bind(tries - 1));
      } else {
        failed(new IllegalStateException("cannot bind " + endpoints.endpoint() + ": " + e.getMessage(), e));
      }
    }
  }

  private void connect() {
    try {
      Socket socket = loop.socket(SocketType.SUB);
      sub = loop.channel(socket, this);
      socket.setRcvHWM(ZmqBinding.RECEIVE_HWM);
      socket.setEventHook(event -> signal(event.getEvent()), MONITORED);
      socket.subscribe(endpoints.topic());
      socket.connect(endpoints.endpoint());
      loop.serveSoon(sub);
    } catch (RuntimeException e) {
      failed(new IllegalStateException("cannot connect to " + endpoints.endpoint() + ": " + e.getMessage(), e));
    }
  }

  /** Called on ZMQ's own thread. */
  private void signal(ZMonitor.Event event) {
    signals.add(event != ZMonitor.Event.DISCONNECTED);
    loop.execute(this::takeSignals);
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
    byte[] payload = frames[2];
    DecodedMessage decoded = decoder.decode((long) LONG.get(frames[1], 0), payload);
    loop.metrics().read(decoded);
    sequencer.live(decoded, payload.length);
  }

  @Override
  public void replayed(ZmqReplay round, long sequence, byte[] payload) {
    if (round != replay) {
      return;
    }
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
  public void replayEnded(ZmqReplay round, boolean marked) {
    if (round == replay) {
      endReplay();
      sequencer.replayEnded(marked);
      resume();
    }
  }

  @Override
  public void deliver(KvBatch batch, int bytes, boolean live) {
    queue.add(new BatchQueue.Item(batch, bytes, live));
  }

  @Override
  public void replay(long from) {
    endReplay();
    if (endpoints.replay() != null) {
      replay = new ZmqReplay(loop, endpoints.replay(), from, replayIdleNanos, this);
      loop.begin(replay);
    }
  }

  @Override
  public void endReplay() {
    ZmqReplay ended = replay;
    replay = null;
    if (ended != null) {
      loop.end(ended);
    }
  }

  private void resume() {
    if (closed) {
      return;
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

  /** Ends the subscription because the transport is closed. */
  private void end() {
    queue.end(null);
    close();
  }

  /** Releases everything; idempotent. */
  void close() {
    if (closed) {
      return;
    }
    closed = true;
    loop.cancelOnShutdown(end);
    endReplay();
    if (binding != null) {
      binding.remove(this);
    }
    if (sub != null) {
      loop.close(sub);
    }
    boolean _ = connection.change(false);
  }
}
