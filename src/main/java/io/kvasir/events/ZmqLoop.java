package io.kvasir.events;

import io.kvasir.time.NanoClock;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.zeromq.SocketType;
import org.zeromq.ZMQ;
import org.zeromq.ZMQ.Socket;

/**
 * One thread that reads many ZMQ sockets. ZMQ's own poller looks at every socket in every turn; this loop
 * waits on the sockets' signals with a selector and looks only at those that have messages, so hundreds of
 * idle workers cost nothing.
 *
 * <p>What a subscription throws is its own failure. What keeps the loop itself from going on fails all of them, and it
 * begins anew: their readers open them again. Its thread ends with {@link #shutdown} only.
 *
 * <p>Everything but {@link #execute}, {@link #behind()} and {@link #shutdown} happens on the loop's thread.
 */
final class ZmqLoop implements Runnable {
  private static final Logger LOG = LoggerFactory.getLogger(ZmqLoop.class);

  /** Messages read from one socket before the next one is read. */
  private static final int BUDGET = 64;

  /** Replays at once: each may bring an engine's whole buffer into memory. */
  private static final int MAX_REPLAYS = 16;

  /** After a turn that failed, lest the loop does nothing but fail. */
  private static final long FAILURE_PAUSE_NANOS = 100_000_000;

  /** So many turns that fail in a row, for about a second, do not pass by themselves. */
  private static final int FAILURES = 10;

  private final SocketFactory sockets;
  private final EventMetrics.SourceMetrics metrics;
  private final NanoClock clock;
  private final Queue<Runnable> tasks = new ConcurrentLinkedQueue<>();
  private final PriorityQueue<ScheduledTask> scheduled = new PriorityQueue<>();
  private final ArrayDeque<ZmqChannel> runQueue = new ArrayDeque<>();
  private final Set<Subscription> subscriptions = new HashSet<>();
  private final Set<Replay> replays = new HashSet<>();
  private final ArrayDeque<Replay> waitingReplays = new ArrayDeque<>();
  /** Why subscriptions are behind, by subscription. */
  private final Map<Object, String> behind = new ConcurrentHashMap<>();
  private volatile Selector selector;
  private volatile boolean closing;

  /** Turns that have failed since the last one that did not. */
  private int failures;

  /** What is read for as long as the loop runs. */
  interface Subscription {
    /** The loop ends. */
    void end();

    /** It cannot go on as it is. */
    void failed(RuntimeException why);
  }

  /** A round of replay; only so many of them run at once. */
  interface Replay {
    void open();

    void close();

    /** Nanoseconds until the round counts as over because nothing comes. */
    long nanosLeft(long now);

    /** Called when no time is left. */
    void timedOut();

    /** It cannot go on. */
    void failed(RuntimeException why);
  }

  private record ScheduledTask(long dueNanos, Runnable task) implements Comparable<ScheduledTask> {
    @Override
    public int compareTo(ScheduledTask other) {
      return Long.compare(dueNanos - other.dueNanos, 0);
    }
  }

  ZmqLoop(SocketFactory sockets, EventMetrics.SourceMetrics metrics, NanoClock clock) {
    this.sockets = sockets;
    this.clock = clock;
    this.metrics = metrics;
    try {
      this.selector = Selector.open();
    } catch (IOException e) {
      throw new UncheckedIOException("no selector for the event loop", e);
    }
  }

  /** Gives up a loop that was not started. */
  void discard() {
    closing = true;
    closeSelector();
  }

  /** Runs a task on the loop's thread, soon; not at all once the loop is shut down. Any thread. */
  void execute(Runnable task) {
    tasks.add(task);
    selector.wakeup();
  }

  /** The same for a task whose failure is somebody's: he is called with it, on the loop's thread. */
  void execute(Runnable task, Consumer<RuntimeException> failed) {
    execute(() -> guarded(task, failed));
  }

  /** Runs a task on the loop's thread after a while. */
  void executeAfter(long millis, Runnable task, Consumer<RuntimeException> failed) {
    scheduled.add(
        new ScheduledTask(
            clock.nanos() + TimeUnit.MILLISECONDS.toNanos(millis), () -> guarded(task, failed)));
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
    while (!closing) {
      try {
        turn();
        failures = 0;
      } catch (Throwable failed) {
        turnFailed(failed);
      }
    }
    // A subscription that was just being opened ends too.
    for (Runnable task = tasks.poll(); task != null; task = tasks.poll()) {
      guarded(task);
    }
    List.copyOf(subscriptions).forEach(each -> guarded(each::end));
    closeSelector();
  }

  private void turnFailed(Throwable failed) {
    try {
      failures++;
      if (failures % FAILURES == 0) {
        restart(failed);
      } else {
        LOG.error("a turn of the event loop failed", failed);
      }
    } catch (Throwable again) {
      // Such as for want of memory to report it with. Without this thread its streams would be silent: it goes on.
    }
    LockSupport.parkNanos(FAILURE_PAUSE_NANOS);
  }

  /** Begins anew, without anything of what was under way. */
  private void restart(Throwable cause) throws IOException {
    List<Subscription> ended = List.copyOf(subscriptions);
    RuntimeException why = new IllegalStateException("the thread that reads event sockets could not go on", cause);
    ended.forEach(each -> guarded(() -> each.failed(why)));
    List.copyOf(replays).forEach(replay -> guarded(replay::close));
    replays.clear();
    waitingReplays.clear();
    runQueue.clear();
    LOG.error(
        "{} turns of the event loop failed, one after the other: it begins anew, and its {} subscriptions, too",
        FAILURES, ended.size(), cause);
    closeSelector();
    selector = Selector.open();
  }

  private void closeSelector() {
    try {
      selector.close();
    } catch (IOException e) {
      LOG.warn("closing the event loop's selector", e);
    }
  }

  private void turn() throws IOException {
    for (Runnable task = tasks.poll(); task != null; task = tasks.poll()) {
      guarded(task);
    }
    runDue();
    endOverdueReplays();
    for (int turns = runQueue.size(); turns > 0; turns--) {
      serve(runQueue.remove());
    }
    await();
  }

  private void await() throws IOException {
    if (!runQueue.isEmpty() || !tasks.isEmpty()) {
      selector.selectNow();
    } else {
      selector.select(millisToDeadline());
    }
    for (SelectionKey key : selector.selectedKeys()) {
      if (key.isValid()) {
        serveSoon((ZmqChannel) key.attachment());
      }
    }
    selector.selectedKeys().clear();
  }

  private void serve(ZmqChannel channel) {
    channel.queued = false;
    guarded(
        () -> {
          if (channel.serve(BUDGET)) {
            serveSoon(channel);
          }
        },
        channel.handler()::failed);
  }

  private static void guarded(Runnable task) {
    guarded(task, _ -> {});
  }

  /** Runs a task, and calls the one whose failure it is when it fails. */
  private static void guarded(Runnable task, Consumer<RuntimeException> failed) {
    try {
      task.run();
    } catch (RuntimeException | Error e) {
      try {
        failed.accept(e instanceof RuntimeException failure ? failure : new IllegalStateException(e));
      } catch (RuntimeException | Error again) {
        e.addSuppressed(again);
      }
      LOG.error("a task of the event loop failed", e);
    }
  }

  /** Reads a channel in the next turn, whether or not it is signalled. */
  void serveSoon(ZmqChannel channel) {
    if (!channel.queued) {
      channel.queued = true;
      runQueue.add(channel);
    }
  }

  void resume(ZmqChannel channel) {
    channel.resume();
    serveSoon(channel);
  }

  NanoClock clock() {
    return clock;
  }

  EventMetrics.SourceMetrics metrics() {
    return metrics;
  }

  /** A socket with the options that all event sockets share: no linger, bounded messages, keep-alive. */
  Socket socket(SocketType type) {
    Socket socket = sockets.create(type);
    socket.setLinger(0);
    socket.setMaxMsgSize(64L << 20);
    socket.setReconnectIVL(100);
    socket.setReconnectIVLMax(1000);
    // JeroMQ 0.6.0 forgets to read from a new connection now and then: its poller loses the engine's key when the
    // connecter's is cancelled in the same turn. Giving up on the handshake soon and connecting again mends that.
    socket.setHandshakeIvl(1000);
    // A peer that vanished without closing the connection is noticed within half a minute.
    socket.setTCPKeepAlive(1);
    socket.setTCPKeepAliveIdle(15);
    socket.setTCPKeepAliveInterval(5);
    socket.setTCPKeepAliveCount(3);
    return socket;
  }

  /** A channel over a socket, which is closed when that fails. */
  ZmqChannel channel(Socket socket, ZmqChannel.FrameHandler handler) {
    try {
      ZmqChannel channel = new ZmqChannel(socket, selector, handler);
      serveSoon(channel);
      return channel;
    } catch (RuntimeException failed) {
      socket.close();
      throw failed;
    }
  }

  /**
   * The channel of a DEALER that has sent {@code ["", request]} to an engine's ROUTER, as a REQ would. Receiving is
   * unlimited: a full pipe makes the engine drop.
   *
   * @param onReached called on ZMQ's own thread, each time that the engine is connected
   */
  ZmqChannel request(String endpoint, byte[] request, ZmqChannel.FrameHandler handler, Runnable onReached) {
    Socket dealer = socket(SocketType.DEALER);
    ZmqChannel channel = channel(dealer, handler);
    try {
      dealer.setRcvHWM(0);
      dealer.setEventHook(_ -> onReached.run(), ZMQ.EVENT_HANDSHAKE_PROTOCOL);
      dealer.connect(endpoint);
      dealer.sendMore(new byte[0]);
      dealer.send(request);
      return channel;
    } catch (RuntimeException failed) {
      close(channel);
      throw failed;
    }
  }

  void close(ZmqChannel channel) {
    channel.close();
    channel.socket().close();
  }

  /** Notes why a subscription is behind; null when it is not any more. */
  void behind(Object subscription, @Nullable String reason) {
    if (reason == null) {
      behind.remove(subscription);
    } else {
      behind.put(subscription, reason);
    }
  }

  /** Why subscriptions are behind. Any thread. */
  Collection<String> behind() {
    return behind.values();
  }

  /** Notes a subscription, which learns of the loop's end. */
  void add(Subscription subscription) {
    subscriptions.add(subscription);
  }

  void remove(Subscription subscription) {
    subscriptions.remove(subscription);
  }

  /** Begins a replay, as soon as fewer than {@value #MAX_REPLAYS} run. */
  void begin(Replay replay) {
    if (replays.size() < MAX_REPLAYS) {
      replays.add(replay);
      // Another one's may have ended just now and made this one begin: its failure is for later.
      guarded(replay::open, why -> execute(() -> replay.failed(why)));
    } else {
      waitingReplays.add(replay);
    }
  }

  void end(Replay replay) {
    if (!replays.remove(replay)) {
      waitingReplays.remove(replay);
      return;
    }
    replay.close();
    Replay next = waitingReplays.poll();
    if (next != null) {
      begin(next);
    }
  }

  private void runDue() {
    long now = clock.nanos();
    for (ScheduledTask first = scheduled.peek(); first != null && first.dueNanos - now <= 0; first = scheduled.peek()) {
      guarded(scheduled.remove().task);
    }
  }

  private void endOverdueReplays() {
    long now = clock.nanos();
    for (Replay replay : new ArrayList<>(replays)) {
      if (replays.contains(replay) && replay.nanosLeft(now) <= 0) {
        guarded(replay::timedOut, replay::failed);
      }
    }
  }

  /** Milliseconds to the next deadline, at least 1; 0, which a selector takes as no limit, when there is none. */
  private long millisToDeadline() {
    long now = clock.nanos();
    ScheduledTask first = scheduled.peek();
    long nearest = first == null ? Long.MAX_VALUE : first.dueNanos - now;
    for (Replay replay : replays) {
      nearest = Math.min(nearest, replay.nanosLeft(now));
    }
    return nearest == Long.MAX_VALUE ? 0 : Math.max(1, TimeUnit.NANOSECONDS.toMillis(nearest) + 1);
  }
}
