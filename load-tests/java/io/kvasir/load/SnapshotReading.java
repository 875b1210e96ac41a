package io.kvasir.load;

import io.kvasir.cell.events.EventApplier;
import io.kvasir.events.EventMetrics;
import io.kvasir.events.EventTransports;
import io.kvasir.events.KvBatch;
import io.kvasir.events.KvEvent;
import io.kvasir.events.SnapshotFormat;
import io.kvasir.events.ZmqEndpoints;
import io.kvasir.events.ZmqEvents;
import io.kvasir.index.BlockIndex;
import io.kvasir.index.WorkerBlocks;
import io.kvasir.sim.publisher.CacheEvent;
import io.kvasir.sim.publisher.EventFormat;
import io.kvasir.sim.publisher.EventPublisher;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.stream.javadsl.Sink;

/**
 * {@code load-tests/with-jdk io.kvasir.load.SnapshotReading [BLOCKS ...]}: an engine's whole cache read over loopback
 * into an index, by a snapshot and, beside it, by a replay that reaches back to the beginning; both of one event per 64
 * blocks. Milliseconds from the subscription to the moment when nothing is missing, in a process that also is the
 * engine. Replays of very many batches take a round for every thousand that an engine's pipe holds, and are left out.
 */
final class SnapshotReading {
  private static final int ROUNDS = 15;
  private static final int RUN = 64;
  private static final int BLOCK = 16;
  private static final int CHAIN = 512;
  private static final int MOST_REPLAYED = 200_000;
  private static final long PATIENCE_SECONDS = 60;

  private SnapshotReading() {}

  public static void main(String[] arguments) throws Exception {
    ActorSystem<Void> system = ActorSystem.create(Behaviors.empty(), "snapshots");
    try {
      int[] sizes =
          arguments.length == 0
              ? new int[] {10_000, 100_000, 1_000_000}
              : Arrays.stream(arguments).mapToInt(Integer::parseInt).toArray();
      for (int blocks : sizes) {
        measure(system, blocks);
      }
    } finally {
      system.terminate();
    }
  }

  private static void measure(ActorSystem<Void> system, int blocks) throws Exception {
    EventPublisher.Binding binding =
        new EventPublisher.Binding("127.0.0.1", 0, null, true, 0, "", true, 1 + blocks / RUN, true);
    try (EventPublisher engine = new EventPublisher(binding, EventFormat.VLLM, 0, "engine")) {
      publish(engine, blocks);
      String events = "tcp://127.0.0.1:" + engine.eventsPort();
      String replay = "tcp://127.0.0.1:" + engine.replayPort();
      for (SnapshotFormat format : List.of(SnapshotFormat.VLLM_50134, SnapshotFormat.NONE)) {
        if (format == SnapshotFormat.NONE && blocks > MOST_REPLAYED) {
          continue;
        }
        long[] nanos = new long[ROUNDS];
        for (int round = 0; round < ROUNDS; round++) {
          nanos[round] = read(system, new ZmqEndpoints(events, replay, "", false, format, null), blocks);
        }
        Arrays.sort(nanos);
        System.out.printf(
            "%,9d blocks by %s: best %.1f, median %.1f, worst %.1f ms%n",
            blocks, format == SnapshotFormat.NONE ? "replay  " : "snapshot",
            nanos[0] / 1e6, nanos[ROUNDS / 2] / 1e6, nanos[ROUNDS - 1] / 1e6);
      }
    }
  }

  private static void publish(EventPublisher engine, int blocks) {
    SplittableRandom random = new SplittableRandom(1);
    long parent = 0;
    for (int from = 0; from < blocks; from += RUN) {
      long[] keys = new long[Math.min(RUN, blocks - from)];
      int[] tokens = new int[keys.length * BLOCK];
      Arrays.setAll(keys, _ -> random.nextLong());
      Arrays.setAll(tokens, _ -> random.nextInt(150_000));
      boolean root = from % CHAIN == 0;
      engine.publish(
          from + 1.0, List.of(new CacheEvent.Stored(root ? null : parent, keys, tokens, BLOCK, null, null, "GPU")));
      parent = keys[keys.length - 1];
    }
  }

  /** Nanoseconds until nothing is missing. */
  private static long read(ActorSystem<Void> system, ZmqEndpoints endpoints, int blocks) throws Exception {
    EventMetrics metrics = new EventMetrics(new Metrics(new PrometheusRegistry()));
    try (EventTransports transports = new EventTransports(metrics, NanoClock.SYSTEM)) {
      BlockIndex index = new BlockIndex(64, 1L << 30);
      WorkerBlocks held = index.open(1);
      EventApplier applier = new EventApplier(held, BLOCK);
      long begun = System.nanoTime();
      transports.shared(ZmqEvents.class, counted -> new ZmqEvents(counted, NanoClock.SYSTEM)).source(endpoints)
          .batches()
          .map(batch -> applied(applier, batch))
          .takeWhile(batch -> !(batch.events().size() == 1 && batch.events().getFirst() instanceof KvEvent.GapClosed))
          .runWith(Sink.ignore(), system)
          .toCompletableFuture()
          .get(PATIENCE_SECONDS, TimeUnit.SECONDS);
      long took = System.nanoTime() - begun;
      if (held.size() != blocks || applier.state().suspect()) {
        throw new IllegalStateException("the index holds " + held.size() + " of " + blocks + " blocks");
      }
      return took;
    }
  }

  private static KvBatch applied(EventApplier applier, KvBatch batch) {
    if (batch.events().size() == 1 && batch.events().getFirst() instanceof KvEvent.SnapshotFailed(String why)) {
      throw new IllegalStateException("no snapshot: " + why);
    }
    applier.apply(batch, 1);
    return batch;
  }
}
