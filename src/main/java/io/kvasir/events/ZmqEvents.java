package io.kvasir.events;

import io.kvasir.telemetry.Problem;
import io.kvasir.time.NanoClock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.zeromq.ZContext;

/**
 * Event streams over ZMQ, as vLLM and SGLang publish them: PUB/SUB with a replay on the side. A few threads
 * read the sockets of all workers. Thread-safe; closing it completes every stream.
 */
public final class ZmqEvents implements SharedTransport {
  /** One of four cores reads: one thread decodes some 200,000 events a second. */
  private static final int THREADS = Math.max(1, Runtime.getRuntime().availableProcessors() / 4);

  /** Snapshots read at a time: each is in memory until it is applied. */
  private static final int SNAPSHOTS = 4;

  private static final Duration REPLAY_IDLE = Duration.ofSeconds(2);

  /** ZMQ's own limit, 1,023, is below the workers of a large fleet. */
  private static final int MAX_SOCKETS = 16_384;

  private final ZContext context;
  private final List<ZmqLoop> loops = new ArrayList<>();
  private final List<Thread> threads = new ArrayList<>();
  /** The bound sockets, by endpoint. */
  private final Map<String, ZmqBinding> bindings = new ConcurrentHashMap<>();
  private final SnapshotSlots snapshots = new SnapshotSlots(SNAPSHOTS);
  private final AtomicInteger turn = new AtomicInteger();
  private final Duration replayIdle;
  private final EventMetrics.SourceMetrics metrics;

  /** Starts one reading thread for every four cores; a replay that brings nothing for 2 s counts as over. */
  public ZmqEvents(EventMetrics metrics, NanoClock clock) {
    this(THREADS, REPLAY_IDLE, metrics, clock, SocketFactory::of);
  }

  /**
   * Starts the threads.
   *
   * @param threads reading threads, at least 1; one decodes some 200,000 events a second
   * @param replayIdle how long a replay may bring nothing before it counts as over; engines begin one within
   *     100 ms when idle
   * @param sockets makes the sockets of a context
   */
  ZmqEvents(
      int threads,
      Duration replayIdle,
      EventMetrics metrics,
      NanoClock clock,
      Function<ZContext, SocketFactory> sockets) {
    if (threads < 1) {
      throw new IllegalArgumentException("threads: must be at least 1, is " + threads);
    }
    this.replayIdle = replayIdle;
    this.metrics = metrics.of("zmq");
    this.context = new ZContext(1);
    context.getContext().setMaxSockets(MAX_SOCKETS);
    SocketFactory factory = sockets.apply(context);
    try {
      for (int i = 0; i < threads; i++) {
        loops.add(new ZmqLoop(factory, this.metrics, clock));
      }
    } catch (RuntimeException failed) {
      loops.forEach(ZmqLoop::discard);
      context.close();
      throw failed;
    }
    for (ZmqLoop loop : loops) {
      this.threads.add(Thread.ofPlatform().name("kvasir-events-" + this.threads.size()).daemon().start(loop));
    }
  }

  @Override
  public List<Problem> problems() {
    List<String> reasons = loops.stream().flatMap(loop -> loop.behind().stream()).toList();
    return reasons.isEmpty()
        ? List.of()
        : List.of(Problem.warning(
            "the index of " + reasons.size() + " workers is behind: no socket can be opened for their events, "
                + reasons.getFirst(),
            "raise the limit of open files (ulimit -n), or spread the workers over more nodes"));
  }

  /** The source of a worker's events. Nothing is connected before the source is run. */
  public EventSource source(ZmqEndpoints endpoints) {
    return new ResumableSource((queue, last) -> subscribe(endpoints, queue, last), metrics);
  }

  private ZmqLoop loop(int number) {
    return loops.get(Math.floorMod(number, loops.size()));
  }

  private Runnable subscribe(ZmqEndpoints endpoints, BatchQueue queue, @Nullable StreamPosition last) {
    // Workers that share a bound socket share its thread.
    int number = endpoints.bind() ? endpoints.endpoint().hashCode() : turn.getAndIncrement();
    ZmqLoop loop = loop(number);
    ZmqSubscription subscription = 
        new ZmqSubscription(loop, bindings, endpoints, queue, snapshots, replayIdle.toNanos(), last);
    loop.execute(subscription::open, subscription::failed);
    if (loop.closing()) {
      queue.end(null);
    }
    return () -> loop.execute(subscription::close);
  }

  /**
   * Follows the load that a rank publishes.
   *
   * @param endpoint of the rank's PUB socket, such as {@code tcp://engine:5558}
   * @param topic prefix of the messages' topic
   * @return ends it; may be called more than once
   */
  Runnable followLoad(String endpoint, String topic, LoadListener listener) {
    ZmqLoop loop = loop(turn.getAndIncrement());
    ZmqLoadSubscription subscription = new ZmqLoadSubscription(loop, endpoint, topic, listener);
    loop.execute(subscription::open, subscription::failed);
    return () -> loop.execute(subscription::close);
  }

  @Override
  public void close() {
    loops.forEach(ZmqLoop::shutdown);
    boolean interrupted = false;
    for (Thread thread : threads) {
      while (thread.isAlive()) {
        try {
          thread.join();
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    }
    context.close();
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
