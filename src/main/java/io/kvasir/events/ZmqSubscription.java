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
 * One subscription to one worker's events: has the socket that its live messages come from, or a share of one, and
 * hands them to a {@link ZmqStream}. Reading stops while that takes none; ZMQ's buffers and then the engine's fill up,
 * and what the engine drops shows as a gap. Belongs to a loop's thread, but for {@link #signal}.
 */
final class ZmqSubscription implements ZmqLoop.Subscription, ZmqBinding.TopicSubscriber, ZmqStream.LiveMessages {
  private static final int BIND_TRIES = 20;
  private static final long BIND_PAUSE_MILLIS = 100;

  private static final int MONITORED = ZMQ.EVENT_HANDSHAKE_PROTOCOL | ZMQ.EVENT_DISCONNECTED;
  private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);

  private final ZmqLoop loop;
  private final Map<String, ZmqBinding> bindings;
  private final ZmqEndpoints endpoints;
  private final BatchQueue queue;
  private final SocketRetries retries;
  private final ZmqStream stream;
  private final ConnectionState connection;
  private final Queue<Boolean> signals = new ConcurrentLinkedQueue<>();
  private @Nullable ZmqChannel sub;
  private @Nullable ZmqBinding binding;
  private boolean closed;

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
    this.retries = new SocketRetries(loop, this::failed);
    this.stream = new ZmqStream(loop, endpoints, queue, snapshotSlots, replayIdleNanos, retries, this, last);
    this.connection = new ConnectionState(loop.metrics());
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
    queue.onSpace(() -> loop.execute(stream::resume, this::failed));
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
      stream.connected();
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
      retries.opened();
    } catch (RuntimeException failed) {
      if (sub != null) {
        loop.close(sub);
        sub = null;
      }
      if (!retries.isBehind()) {
        stream.unreceivable();
      }
      retries.retryAfter(endpoints.endpoint(), failed, this::connect);
    }
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
        stream.deliver(new KvEvent.Connected());
        stream.connected();
      } else {
        stream.deliver(new KvEvent.Disconnected());
        stream.disconnected();
      }
    }
  }

  @Override
  public boolean ready() {
    return stream.ready();
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
      stream.deliver(new KvEvent.Connected());
    }
    stream.live((long) LONG.get(frames[1], 0), frames[2]);
  }

  @Override
  public void readOn() {
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
    stream.close();
    if (binding != null) {
      binding.remove(this);
    }
    if (sub != null) {
      loop.close(sub);
    }
    retries.caughtUp();
    connection.close();
  }
}
