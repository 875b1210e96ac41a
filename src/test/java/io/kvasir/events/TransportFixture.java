package io.kvasir.events;

import io.kvasir.telemetry.Metrics;
import io.kvasir.telemetry.TestMetrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;

/** Streams of one transport, what they count, and their end: whatever a test opens is closed before the transport. */
abstract class TransportFixture {
  private static @Nullable ActorSystem<Void> system;

  final PrometheusRegistry registry = new PrometheusRegistry();
  final EventMetrics metrics = new EventMetrics(new Metrics(registry));
  private final List<AutoCloseable> opened = new ArrayList<>();

  /** Closes what the sources belong to. */
  abstract void closeTransport();

  @BeforeAll
  static void start() {
    system = ActorSystem.create(Behaviors.empty(), "events");
  }

  @AfterAll
  static void stop() throws Exception {
    system().terminate();
    system().getWhenTerminated().toCompletableFuture().get(60, TimeUnit.SECONDS);
  }

  @AfterEach
  void close() throws Exception {
    for (AutoCloseable closeable : opened.reversed()) {
      closeable.close();
    }
    closeTransport();
  }

  static ActorSystem<Void> system() {
    return Objects.requireNonNull(system);
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
