package io.kvasir.app.node;

import io.kvasir.cell.EventSources;
import io.kvasir.cell.PodSpec;
import io.kvasir.events.EventFeed;
import io.kvasir.events.EventMetrics;
import io.kvasir.events.EventSource;
import io.kvasir.events.GrpcEvents;
import io.kvasir.events.KvBatch;
import io.kvasir.events.MergedEvents;
import io.kvasir.events.NatsEndpoint;
import io.kvasir.events.NatsEvents;
import io.kvasir.events.PushEvents;
import io.kvasir.events.RedisEvents;
import io.kvasir.events.StreamPosition;
import io.kvasir.events.TensorRtEvents;
import io.kvasir.events.ZmqEvents;
import io.kvasir.routing.Worker;
import io.kvasir.telemetry.Metrics;
import java.time.Duration;
import java.util.List;
import org.apache.pekko.NotUsed;
import org.apache.pekko.stream.javadsl.Source;
import org.jspecify.annotations.Nullable;

/** Opens workers' event streams over the node's transports, which it owns. */
final class EventStreams implements EventSources, AutoCloseable {
  private static final int THREADS = Math.max(1, Runtime.getRuntime().availableProcessors() / 4);
  private static final Duration REPLAY_IDLE = Duration.ofSeconds(2);

  private final ZmqEvents zmq;
  private final PushEvents push;
  private final NatsEvents nats;
  private final RedisEvents redis;
  private final TensorRtEvents tensorRt;
  private final GrpcEvents grpc;

  EventStreams(Metrics metrics) {
    EventMetrics counted = new EventMetrics(metrics);
    this.zmq = new ZmqEvents(THREADS, REPLAY_IDLE, counted);
    this.push = new PushEvents(counted);
    this.nats = new NatsEvents(counted);
    this.redis = new RedisEvents(counted);
    this.tensorRt = new TensorRtEvents(counted);
    this.grpc = new GrpcEvents(counted);
  }

  @Override
  public Source<KvBatch, NotUsed> open(Worker worker, PodSpec pod) {
    List<EventSource> sources = pod.events().stream().map(feed -> source(feed, worker)).toList();
    return switch (sources.size()) {
      case 0 -> Source.empty();
      case 1 -> sources.getFirst().batches();
      default -> new MergedEvents(sources).batches();
    };
  }

  /** Several sources of one worker tell everything anew: what each of them had told is not known apart. */
  @Override
  public @Nullable Source<KvBatch, NotUsed> resume(Worker worker, PodSpec pod, StreamPosition last) {
    return pod.events().size() == 1 ? source(pod.events().getFirst(), worker).batchesAfter(last) : null;
  }

  /** Where pushed bodies go. */
  PushEvents push() {
    return push;
  }

  private EventSource source(EventFeed feed, Worker worker) {
    return switch (feed) {
      case EventFeed.Zmq ports -> zmq.source(ports.endpoints().ofRank(worker.rank()));
      case EventFeed.Push pushed -> push.source(worker.id(), pushed.key());
      case EventFeed.Nats at ->
          nats.source(
              new NatsEndpoint(
                  at.servers(), at.stream(), of(at.subject(), worker), at.history(), at.credentials(), worker.id()));
      case EventFeed.Redis at -> redis.source(at.url(), of(at.stream(), worker));
      case EventFeed.Grpc at -> grpc.source(at.address(), at.tls(), worker.rank());
      case EventFeed.TensorRt at ->
          tensorRt.source(at.url() == null ? worker.url() : at.url(), worker.rank(), worker.ranks(), at.interval());
    };
  }

  private static String of(String pattern, Worker worker) {
    return pattern
        .replace("{pod}", worker.pod())
        .replace("{rank}", Integer.toString(worker.rank()))
        .replace("{worker}", worker.id());
  }

  @Override
  public void close() {
    zmq.close();
    nats.close();
    redis.close();
    tensorRt.close();
    grpc.close();
  }
}
