package io.kvasir.app.node;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.kvasir.cell.EngineReport;
import io.kvasir.cell.HealthProbe;
import io.kvasir.http.Headers;
import io.kvasir.http.client.PodClient;
import io.kvasir.http.client.PodException;
import io.kvasir.http.client.PodException.Kind;
import io.kvasir.http.client.PodKeys;
import io.kvasir.http.client.PodRequest;
import io.kvasir.http.client.PodResponse;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.ByteArrayOutputStream;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.stream.Collectors;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;

/**
 * Health probes by a pod's {@code GET /health} and {@code GET /metrics}, of which only the gauges of load are requested
 * where the pod can tell them alone. Each exchange is on a virtual thread and, where the pod keeps it open, on the
 * connection of the one before. Thread-safe. Owns its HTTP client: connections for requests are others, and only those
 * are counted in the node's metrics.
 */
public final class HttpProbe implements HealthProbe, AutoCloseable {
  /**
   * The gauges of load alone, which vLLM has at this path (its {@code entrypoints/serve/instrumentator/metrics.py}) as
   * any server of the Prometheus client for Python. The page of all metrics costs the engine ten times as much CPU time
   * on the thread that streams its answers.
   */
  private static final String LOAD =
      EngineMetricsParser.names().stream()
          .sorted()
          .map(name -> encode("name[]") + "=" + encode(name))
          .collect(Collectors.joining("&", "/metrics/?", ""));

  /** After how long a pod that did not tell its load alone is asked for that again: its engine may be another. */
  private static final Duration UNFILTERED = Duration.ofMinutes(10);

  private static final int MAX_PODS = 10_000;

  /** vLLM's metrics have some 100 KB. */
  private static final long MAX_METRICS_BYTES = 8 << 20;

  /** Of what a health route says, only the status counts; Dynamo's frontend lists all of its workers there. */
  private static final long MAX_HEALTH_BYTES = 64 << 10;

  /** A page of settings, with all of an engine's arguments. */
  private static final long MAX_PAGE_BYTES = 1 << 20;

  private static final int BUFFER = 32 << 10;

  /** A probe and a poll of a pod's metrics may run at the same time. */
  private static final int IDLE_CONNECTIONS = 2;

  private static final Executor VIRTUAL_THREADS = task -> Thread.ofVirtual().name("kvasir-probe").start(task);

  /** The receiver of a body, part by part. */
  private interface BodySink {
    void accept(byte[] buffer, int length);
  }

  private final long timeoutNanos;
  private final PodClient client;

  /** The pods whose load is only on the page of all their metrics. */
  private final Cache<URI, Boolean> unfiltered =
      Caffeine.newBuilder().maximumSize(MAX_PODS).expireAfterWrite(UNFILTERED).executor(Runnable::run).build();

  /**
   * A probe.
   *
   * @param timeout for each exchange
   * @param tls for https pods, null for what the JVM trusts
   * @param keys the API keys of pods
   */
  HttpProbe(Duration timeout, @Nullable SSLContext tls, PodKeys keys) {
    this.timeoutNanos = timeout.toNanos();
    this.client =
        new PodClient(
            new PodClient.Settings(
                timeout, timeout, timeout, PodClient.Settings.defaults().keepAlive(), IDLE_CONNECTIONS, tls, keys),
            new Metrics(new PrometheusRegistry()),
            NanoClock.SYSTEM);
  }

  /** A pod that is only slow is unhealthy but connected: the stage fails for those alone that cannot be reached. */
  @Override
  public CompletionStage<Boolean> probe(URI pod) {
    return CompletableFuture.supplyAsync(() -> isWell(pod), VIRTUAL_THREADS);
  }

  @Override
  public CompletionStage<Map<Integer, EngineReport>> reports(URI pod) {
    return CompletableFuture.supplyAsync(() -> readReports(pod), VIRTUAL_THREADS);
  }

  /**
   * Reads a page of a pod; blocks, at most for the probe's deadline and the time of a connection.
   *
   * @return the page, empty where the pod has none at this path
   * @throws PodException when it did not answer with a page of reasonable length, or not now
   */
  byte[] page(URI pod, String path) throws PodException {
    ByteArrayOutputStream page = new ByteArrayOutputStream();
    try (PodResponse response = get(pod, path)) {
      boolean found = response.status() == 200;
      if (!read(response, MAX_PAGE_BYTES, found ? (buffer, length) -> page.write(buffer, 0, length) : null)) {
        throw new PodException(Kind.PROTOCOL, "answered with more than " + MAX_PAGE_BYTES + " bytes", null);
      }
      if (!found && response.status() / 100 == 5) {
        throw new PodException(Kind.PROTOCOL, "answered " + response.status(), null);
      }
    }
    return page.toByteArray();
  }

  private boolean isWell(URI pod) {
    try (PodResponse response = get(pod, "/health")) {
      boolean _ = read(response, MAX_HEALTH_BYTES, null);
      return response.status() / 100 == 2;
    } catch (PodException failed) {
      if (isLate(failed)) {
        return false;
      }
      throw new CompletionException(failed.getMessage(), failed);
    }
  }

  private Map<Integer, EngineReport> readReports(URI pod) {
    try {
      if (unfiltered.getIfPresent(pod) != null) {
        return readReports(pod, "/metrics");
      }
      Map<Integer, EngineReport> alone = readAlone(pod);
      if (!alone.isEmpty()) {
        return alone;
      }
      Map<Integer, EngineReport> all = readReports(pod, "/metrics");
      // Only now: one that gives no page at all may still have this one.
      unfiltered.put(pod, true);
      return all;
    } catch (PodException failed) {
      throw new CompletionException(failed.getMessage(), failed);
    }
  }

  /** The gauges of load alone; empty where the pod has no such page, or breaks off the exchange instead. */
  private Map<Integer, EngineReport> readAlone(URI pod) throws PodException {
    try {
      return readReports(pod, LOAD);
    } catch (PodException failed) {
      return switch (failed.kind()) {
        case RESET, TRUNCATED, PROTOCOL -> Map.of();
        case CONNECT, UNSENT, HEAD_TIMEOUT, IDLE_TIMEOUT, ABORTED -> throw failed;
      };
    }
  }

  private Map<Integer, EngineReport> readReports(URI pod, String path) throws PodException {
    EngineMetricsParser parser = new EngineMetricsParser();
    try (PodResponse response = get(pod, path)) {
      if (!read(response, MAX_METRICS_BYTES, response.status() == 200 ? parser::accept : null)) {
        throw new PodException(Kind.PROTOCOL, "answered with more than " + MAX_METRICS_BYTES + " bytes", null);
      }
    }
    return parser.finish();
  }

  private static String encode(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8);
  }

  private PodResponse get(URI pod, String path) throws PodException {
    return client.call(new PodRequest(pod, "GET", path, Headers.EMPTY, new byte[0])).send();
  }

  /** Reads the body to its end, so that the connection can be used again; false where it is longer than the limit. */
  private boolean read(PodResponse response, long limit, @Nullable BodySink sink) throws PodException {
    if (response.hasEnded()) {
      return true;
    }
    long began = System.nanoTime();
    long left = limit;
    byte[] buffer = new byte[sink == null ? 1 << 10 : BUFFER];
    for (int read = response.read(buffer, 0, buffer.length);
        read >= 0;
        read = response.read(buffer, 0, buffer.length)) {
      left -= read;
      if (left < 0) {
        return false;
      }
      if (System.nanoTime() - began > timeoutNanos) {
        throw new PodException(Kind.IDLE_TIMEOUT, "did not answer whole in time", null);
      }
      if (sink != null) {
        sink.accept(buffer, read);
      }
    }
    return true;
  }

  private static boolean isLate(PodException failed) {
    return switch (failed.kind()) {
      case HEAD_TIMEOUT, IDLE_TIMEOUT -> true;
      case CONNECT -> failed.getCause() instanceof SocketTimeoutException;
      case UNSENT, RESET, TRUNCATED, PROTOCOL, ABORTED -> false;
    };
  }

  @Override
  public void close() {
    client.close();
  }
}
