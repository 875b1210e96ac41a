package io.kvasir.events;

import io.kvasir.SharedSystem;
import io.kvasir.telemetry.Metrics;
import io.kvasir.telemetry.TestMetrics;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import org.apache.pekko.actor.typed.ActorSystem;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;

/** Streams over the transports of one node, and their metrics; what a test opens is closed before the transports. */
abstract class TransportFixture {
  private static final SharedSystem SYSTEM = new SharedSystem("events");

  final PrometheusRegistry registry = new PrometheusRegistry();
  final EventMetrics metrics = new EventMetrics(new Metrics(registry));
  final EventTransports transports = new EventTransports(metrics, NanoClock.SYSTEM);
  private final List<AutoCloseable> opened = new ArrayList<>();

  @BeforeAll
  static void start() {
    SYSTEM.begin();
  }

  @AfterAll
  static void stop() {
    SYSTEM.end();
  }

  @AfterEach
  void close() throws Exception {
    for (AutoCloseable closeable : opened.reversed()) {
      closeable.close();
    }
    transports.close();
  }

  static ActorSystem<Void> system() {
    return SYSTEM.get();
  }

  /** The source of a rank of the pod {@code pod}, read from a feed. */
  EventSource open(EventFeed feed, int rank, int ranks) {
    String id = ranks == 1 ? "pod" : "pod#" + rank;
    return feed.open(new WorkerAddress(id, "pod", URI.create("http://127.0.0.1:1"), rank, ranks), transports);
  }

  TestStream subscribe(EventSource source) {
    return open(new TestStream(source, system()));
  }

  <T extends AutoCloseable> T open(T closeable) {
    opened.add(closeable);
    return closeable;
  }

  /** Closes what was opened while the test goes on. */
  void closeNow(AutoCloseable closeable) throws Exception {
    opened.remove(closeable);
    closeable.close();
  }

  double metric(String name) {
    return TestMetrics.sum(registry, name);
  }
}
