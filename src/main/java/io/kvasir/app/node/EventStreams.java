package io.kvasir.app.node;

import io.kvasir.cell.EventSources;
import io.kvasir.cell.PodSpec;
import io.kvasir.events.EventMetrics;
import io.kvasir.events.EventSource;
import io.kvasir.events.EventTransports;
import io.kvasir.events.KvBatch;
import io.kvasir.events.LoadListener;
import io.kvasir.events.MergedEvents;
import io.kvasir.events.PushEvents;
import io.kvasir.events.StreamPosition;
import io.kvasir.events.WorkerAddress;
import io.kvasir.routing.Worker;
import io.kvasir.telemetry.Metrics;
import io.kvasir.telemetry.Problem;
import io.kvasir.time.NanoClock;
import java.util.List;
import org.apache.pekko.NotUsed;
import org.apache.pekko.stream.javadsl.Source;
import org.jspecify.annotations.Nullable;

/** The event streams of workers, opened from their pods' feeds over the node's transports, which it owns. */
final class EventStreams implements EventSources, AutoCloseable {
  private final EventTransports transports;

  EventStreams(Metrics metrics) {
    this.transports = new EventTransports(new EventMetrics(metrics), NanoClock.SYSTEM);
  }

  @Override
  public Source<KvBatch, NotUsed> open(Worker worker, PodSpec pod) {
    List<EventSource> sources = sources(worker, pod);
    return switch (sources.size()) {
      case 0 -> Source.empty();
      case 1 -> sources.getFirst().batches();
      default -> new MergedEvents(sources).batches();
    };
  }

  /** Resumes a single feed only: of merged ones it is not known how far each had come. */
  @Override
  public @Nullable Source<KvBatch, NotUsed> resume(Worker worker, PodSpec pod, StreamPosition last) {
    return pod.events().size() == 1 ? sources(worker, pod).getFirst().batchesAfter(last) : null;
  }

  /** Follows the load that an engine's rank publishes; what is returned ends it. */
  Runnable followLoad(String endpoint, String topic, LoadListener listener) {
    return transports.followLoad(endpoint, topic, listener);
  }

  /** The receiver of pushed events. */
  PushEvents push() {
    return transports.push();
  }

  /** What keeps streams from being up to date, in words; empty when nothing does. */
  List<Problem> problems() {
    return transports.problems();
  }

  private List<EventSource> sources(Worker worker, PodSpec pod) {
    WorkerAddress address =
        new WorkerAddress(worker.id(), worker.pod(), worker.url(), worker.rank(), worker.ranks());
    return pod.events().stream().map(feed -> feed.open(address, transports)).toList();
  }

  @Override
  public void close() {
    transports.close();
  }
}
