package io.kvasir.app.node;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.cell.PodSpec;
import io.kvasir.cell.events.EventApplier;
import io.kvasir.events.EventFeed;
import io.kvasir.events.EventSource;
import io.kvasir.events.EventTransports;
import io.kvasir.events.KvBatch;
import io.kvasir.events.KvEvent;
import io.kvasir.events.SharedTransport;
import io.kvasir.events.WorkerAddress;
import io.kvasir.index.BlockHash;
import io.kvasir.index.BlockIndex;
import io.kvasir.index.Chain;
import io.kvasir.index.Tier;
import io.kvasir.routing.Role;
import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.stream.javadsl.Source;
import org.junit.jupiter.api.Test;

/** A transport that only this file knows is wired like those of the house. */
final class EventStreamsTest {
  private static final int BLOCK = 2;
  private static final int[] PROMPT = {5, 6, 7, 8, 9, 10};

  private final BlockIndex index = new BlockIndex(64, 16 << 20);
  private final EventApplier applier = new EventApplier(index.open(0), BLOCK);

  @Test
  void aFeedOfAnotherTransport_feedsTheIndex() throws Exception {
    List<String> topics = new ArrayList<>();
    ActorSystem<Void> system = ActorSystem.create(Behaviors.empty(), "streams");
    try (EventStreams streams = new EventStreams(new Metrics(new PrometheusRegistry()))) {
      PodSpec pod = pod(new BusFeed("kv.{pod}.{rank}", topics));
      var applied =
          streams
              .open(pod.worker(0, 0), pod)
              .runForeach(batch -> applier.apply(batch, 0), system);
      applied.toCompletableFuture().get(60, TimeUnit.SECONDS);
    } finally {
      system.terminate();
    }
    assertThat(topics).containsExactly("kv.pod.0", "closed");
    assertThat(depth()).isEqualTo(3);
  }

  private int depth() {
    long[] hashes = new long[PROMPT.length / BLOCK];
    BlockHash.in(null, null).chain(BlockHash.NONE, PROMPT, 0, PROMPT.length, BLOCK, hashes, 0);
    int[] depths = new int[64];
    return index.search(new Chain(hashes, BLOCK), new long[] {1}, depths);
  }

  private static PodSpec pod(EventFeed feed) {
    return new PodSpec(
        "pod", URI.create("http://127.0.0.1:1"), Role.BOTH, Set.of("m"), Map.of(),
        new PodSpec.Engine("engine", 1, BLOCK, 1, 100), List.of(feed), null);
  }

  /** The transport that workers share. */
  private record Bus(List<String> topics) implements SharedTransport {
    EventSource source(String topic) {
      topics.add(topic);
      return () -> Source.from(List.of(stored(0, true, 0, 1, 2), stored(1, false, 2, 3)));
    }

    private static KvBatch stored(long sequence, boolean root, long parent, long... keys) {
      int[] tokens = new int[keys.length * BLOCK];
      System.arraycopy(PROMPT, (int) (keys[0] - 1) * BLOCK, tokens, 0, tokens.length);
      KvEvent.Stored event =
          new KvEvent.Stored(
              root, parent, keys, tokens, BLOCK, Tier.DEVICE, null, null, KvEvent.UNSPECIFIED,
              KvEvent.Spec.UNSPECIFIED, List.of());
      return new KvBatch(sequence, 0, KvBatch.UNKNOWN_RANK, List.of(event));
    }

    @Override
    public void close() {
      topics.add("closed");
    }
  }

  private record BusFeed(String topic, List<String> topics) implements EventFeed {
    @Override
    public String kind() {
      return "test";
    }

    @Override
    public boolean direct() {
      return false;
    }

    @Override
    public EventSource open(WorkerAddress worker, EventTransports transports) {
      return transports.shared(Bus.class, _ -> new Bus(topics)).source(worker.expand(topic));
    }
  }
}
