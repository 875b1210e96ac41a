package io.kvasir.events;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ.Socket;

/**
 * One thread that reads many ZMQ sockets. ZMQ's own poller looks at every socket in every turn; this loop
 * waits on the sockets' signals with a selector and looks only at those that have something, so hundreds of
 * idle workers cost nothing.
 *
 * <p>Everything but {@link #execute} and {@link #shutdown} happens on the loop's thread.
 */
final class ZmqLoop implements Runnable {
  private static final Logger LOG = LoggerFactory.getLogger(ZmqLoop.class);

  /** Messages a socket may hand over before the others have their turn. */
  private static final int BUDGET = 64;

  /** Replays under way at once: each may bring an engine's whole buffer into memory. */
  private static final int MAX_REPLAYS = 16;

  private final ZContext context;
  private final EventMetrics.OfSource metrics;
  private final Selector selector;
  private final Queue<Runnable> tasks = new ConcurrentLinkedQueue<>();
  private final PriorityQueue<Later> later = new PriorityQueue<>();
  private final ArrayDeque<ZmqPort> line = new ArrayDeque<>();
  private final Set<ZmqLink> links = new HashSet<>();
  private final Map<String, ZmqBinding> bindings = new HashMap<>();
  private final Set<ZmqReplay> replays = new HashSet<>();
  private final ArrayDeque<ZmqReplay> waiting = new ArrayDeque<>();
  private volatile boolean closing;

  private record Later(long nanos, Runnable task) implements Comparable<Later> {
    @Override
    public int compareTo(Later other) {
      return Long.compare(nanos - other.nanos, 0);
    }
  }

  ZmqLoop(ZContext context, EventMetrics.OfSource metrics) {
    this.context = context;
    this.metrics = metrics;
    try {
      this.selector = Selector.open();
    } catch (IOException e) {
      throw new UncheckedIOException("no selector for the event loop", e);
    }
  }

  /** Runs a task on the loop's thread, soon; not at all once the loop is shut down. Any thread. */
  void execute(Runnable task) {
    tasks.add(task);
    selector.wakeup();
  }

  /** Runs a task on the loop's thread after a while. */
  void executeAfter(long millis, Runnable task) {
    later.add(new Later(System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis), task));
  }

  /** Ends every subscription, then the loop. Any thread. */
  void shutdown() {
    closing = true;
    selector.wakeup();
  }

  boolean closing() {
    return closing;
  }

  @Override
  public void run() {
    try {
      while (!closing) {
        for (Runnable task = tasks.poll(); task != null; task = tasks.poll()) {
          guarded(task);
        }
        runDue();
        endOverdueReplays();
        for (int turns = line.size(); turns > 0; turns--) {
          serve(line.remove());
        }
        await();
      }
    } catch (IOException e) {
      LOG.error("the event loop ends: its selector failed", e);
    } finally {
      closing = true;
      // A subscription that has just been asked for ends too.
      for (Runnable task = tasks.poll(); task != null; task = tasks.poll()) {
        guarded(task);
      }
      List.copyOf(links).forEach(ZmqLink::end);
      try {
        selector.close();
      } catch (IOException e) {
        LOG.warn("closing the event loop's selector", e);
      }
    }
  }

  private void await() throws IOException {
    if (!line.isEmpty() || !tasks.isEmpty()) {
      selector.selectNow();
    } else {
      selector.select(millisToDeadline());
    }
    for (SelectionKey key : selector.selectedKeys()) {
      if (key.isValid()) {
        serveSoon((ZmqPort) key.attachment());
      }
    }
    selector.selectedKeys().clear();
  }

  private void serve(ZmqPort port) {
    port.lined = false;
    try {
      if (port.serve(BUDGET)) {
        serveSoon(port);
      }
    } catch (RuntimeException e) {
      LOG.error("reading an event socket", e);
      port.handler().failed(e);
    }
  }

  private static void guarded(Runnable task) {
    try {
      task.run();
    } catch (RuntimeException e) {
      LOG.error("a task of the event loop failed", e);
    }
  }

  /** Asks a port for messages in the next turn, whatever its signal says. */
  void serveSoon(ZmqPort port) {
    if (!port.lined) {
      port.lined = true;
      line.add(port);
    }
  }

  void resume(ZmqPort port) {
    port.resume();
    serveSoon(port);
  }

  EventMetrics.OfSource metrics() {
    return metrics;
  }

  /** A socket with what every socket of ours has: nothing held back at the end, no unbounded message. */
  Socket socket(SocketType type) {
    Socket socket = context.createSocket(type);
    socket.setLinger(0);
    socket.setMaxMsgSize(64L << 20);
    socket.setReconnectIVL(100);
    socket.setReconnectIVLMax(1000);
    // JeroMQ 0.6.0 forgets to read from a new connection now and then: its poller loses the engine's key when the
    // connecter's is cancelled in the same turn. Giving up on the handshake soon and connecting again mends that.
    socket.setHandshakeIvl(1000);
    // A peer that vanished without a word is noticed within half a minute.
    socket.setTCPKeepAlive(1);
    socket.setTCPKeepAliveIdle(15);
    socket.setTCPKeepAliveInterval(5);
    socket.setTCPKeepAliveCount(3);
    return socket;
  }

  ZmqPort port(Socket socket, ZmqPort.Handler handler) {
    ZmqPort port = new ZmqPort(socket, selector, handler);
    serveSoon(port);
    return port;
  }

  void close(ZmqPort port) {
    port.close();
    port.socket().close();
  }

  void add(ZmqLink link) {
    links.add(link);
  }

  void remove(ZmqLink link) {
    links.remove(link);
  }

  /** The socket bound to an endpoint, shared by all whose engines dial in there. */
  ZmqBinding binding(String endpoint) {
    return bindings.computeIfAbsent(endpoint, e -> new ZmqBinding(this, e));
  }

  void unbind(String endpoint) {
    bindings.remove(endpoint);
  }

  /** Begins a replay as soon as there is room for one. */
  void begin(ZmqReplay replay) {
    if (replays.size() < MAX_REPLAYS) {
      replays.add(replay);
      replay.open();
    } else {
      waiting.add(replay);
    }
  }

  void end(ZmqReplay replay) {
    if (!replays.remove(replay)) {
      waiting.remove(replay);
      return;
    }
    replay.close();
    ZmqReplay next = waiting.poll();
    if (next != null) {
      begin(next);
    }
  }

  private void runDue() {
    long now = System.nanoTime();
    for (Later first = later.peek(); first != null && first.nanos - now <= 0; first = later.peek()) {
      guarded(later.remove().task);
    }
  }

  private void endOverdueReplays() {
    long now = System.nanoTime();
    for (ZmqReplay replay : new ArrayList<>(replays)) {
      if (replays.contains(replay) && replay.nanosLeft(now) <= 0) {
        guarded(replay::idle);
      }
    }
  }

  /** Milliseconds to the next deadline, at least 1; 0 when there is none, which a selector takes for ever. */
  private long millisToDeadline() {
    long now = System.nanoTime();
    Later first = later.peek();
    long least = first == null ? Long.MAX_VALUE : first.nanos - now;
    for (ZmqReplay replay : replays) {
      least = Math.min(least, replay.nanosLeft(now));
    }
    return least == Long.MAX_VALUE ? 0 : Math.max(1, TimeUnit.NANOSECONDS.toMillis(least) + 1);
  }
}
