package io.kvasir.events;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.jspecify.annotations.Nullable;
import org.zeromq.SocketType;
import org.zeromq.ZMQ;
import org.zeromq.ZMQ.Socket;
import org.zeromq.ZMonitor;

/**
 * One subscription to one worker's events: reads its messages, decodes them, has them put in order and
 * fills a queue. Reading stops while the queue is full; ZMQ's buffers and then the engine's fill up, and what
 * the engine drops shows as a gap. Belongs to a loop's thread, but for {@link #signal}.
 */
final class ZmqSubscription implements ZmqChannel.FrameHandler, Sequencer.SequencerOutput {
  /** Messages ZMQ may hold for us beside its network buffers. */
  static final int RECEIVE_HWM = 4096;

  private static final int BIND_TRIES = 20;
  private static final long BIND_PAUSE_MILLIS = 100;
  private static final int MONITORED = ZMQ.EVENT_HANDSHAKE_PROTOCOL | ZMQ.EVENT_DISCONNECTED;
  private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);

  private final ZmqLoop loop;
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
   * @param last what has been delivered elsewhere, null when nothing has
   */
  ZmqSubscription(
      ZmqLoop loop, ZmqEndpoints endpoints, BatchQueue queue, long replayIdleNanos, @Nullable StreamPosition last) {
    this.loop = loop;
    this.endpoints = endpoints;
    this.queue = queue;
    this.replayIdleNanos = replayIdleNanos;
    this.connection = new ConnectionState(loop.metrics());
    this.sequencer = new Sequencer(this, endpoints.replay() != null, endpoints.bind(), loop.metrics());
    if (last != null) {
      sequencer.resumeAfter(last);
    }
  }

  String topic() {
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
    queue.onSpace(() -> loop.execute(this::resume));
    if (endpoints.bind()) {
      bind(BIND_TRIES);
    } else {
      connect();
    }
  }

  /** What was just given up, by a stream that ended or by the node that had the worker before, frees late. */
  private void bind(int tries) {
    if (closed) {
      return;
    }
    try {
      binding = loop.binding(endpoints.endpoint());
      binding.add(this);
      // Who dials in later is not told apart here: the history is asked for at once.
      sequencer.connected();
    } catch (RuntimeException e) {
      if (tries > 1) {
        loop.executeAfter(BIND_PAUSE_MILLIS, () -> bind(tries - 1));
      } else {
        fail(new IllegalStateException("cannot bind " + endpoints.endpoint() + ": " + e.getMessage(), e));
      }
    }
  }

  private void connect() {
    try {
      Socket socket = loop.socket(SocketType.SUB);
      sub = loop.channel(socket, this);
      socket.setRcvHWM(RECEIVE_HWM);
      socket.setEventHook(event -> signal(event.getEvent()), MONITORED);
      socket.subscribe(endpoints.topic());
      socket.connect(endpoints.endpoint());
      loop.serveSoon(sub);
    } catch (RuntimeException e) {
      fail(new IllegalStateException("cannot connect to " + endpoints.endpoint() + ": " + e.getMessage(), e));
    }
  }

  /** From ZMQ's own thread. */
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

  /** Whether a live message may come. */
  @Override
  public boolean ready() {
    paused = queue.full() || sequencer.full();
    return !paused;
  }

  /** Whether a replayed message may come: it may be the one that all others wait for. */
  boolean acceptsReplay() {
    return !queue.full();
  }

  /** A live message: topic, number, payload. */
  @Override
  public void message(byte[][] frames, int count) {
    if (!signals.isEmpty()) {
      // Whatever happened to the connection before this message came is taken in first.
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

  void replayed(ZmqReplay from, long sequence, byte[] payload) {
    if (from != replay) {
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

  void replayEnded(ZmqReplay which, boolean marked) {
    if (which == replay) {
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

  @Override
  public void failed(RuntimeException why) {
    fail(why);
  }

  /** Ends the subscription because it cannot go on. */
  void fail(RuntimeException why) {
    queue.end(why);
    close();
  }

  /** Ends the subscription because the transport is closed. */
  void end() {
    queue.end(null);
    close();
  }

  /** Gives back everything; idempotent. */
  void close() {
    if (closed) {
      return;
    }
    closed = true;
    loop.remove(this);
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
