package io.kvasir.app;

import io.kvasir.cell.EventSources;
import io.kvasir.cell.PodSpec;
import io.kvasir.events.EventMetrics;
import io.kvasir.events.KvBatch;
import io.kvasir.events.ZmqEndpoints;
import io.kvasir.events.ZmqEvents;
import io.kvasir.routing.Worker;
import io.kvasir.telemetry.Metrics;
import java.time.Duration;
import org.apache.pekko.NotUsed;
import org.apache.pekko.stream.javadsl.Source;

/** Opens workers' event streams over the node's one ZMQ transport, which it owns. */
final class EventStreams implements EventSources, AutoCloseable {
  private static final int THREADS = Math.max(1, Runtime.getRuntime().availableProcessors() / 4);
  private static final Duration REPLAY_IDLE = Duration.ofSeconds(2);

  private final ZmqEvents zmq;

  EventStreams(Metrics metrics) {
    this.zmq = new ZmqEvents(THREADS, REPLAY_IDLE, new EventMetrics(metrics));
  }

  @Override
  public Source<KvBatch, NotUsed> open(Worker worker, PodSpec pod) {
    PodSpec.EventsSpec events = pod.events();
    if (events == null) {
      return Source.empty();
    }
    ZmqEndpoints endpoints =
        new ZmqEndpoints(events.endpoint(), events.replay(), events.topic(), events.bind()).ofRank(worker.rank());
    return zmq.source(endpoints).batches();
  }

  @Override
  public void close() {
    zmq.close();
  }
}
