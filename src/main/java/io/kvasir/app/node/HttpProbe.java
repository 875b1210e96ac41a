package io.kvasir.app.node;

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
import java.net.SocketTimeoutException;
import java.net.URI;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;

/**
 * Health probes by a pod's {@code GET /health} and {@code GET /metrics}, each exchange on a virtual thread and, where
 * the pod keeps it open, on the connection of the one before. Thread-safe. Owns its HTTP client: connections for
 * requests are others, and only those are counted in the node's metrics.
 */
public final class HttpProbe implements HealthProbe, AutoCloseable {
  /** vLLM's metrics have some 100 KB. */
  private static final long MAX_METRICS_BYTES = 8 << 20;

  /** Of what a health route says, only the status counts; Dynamo's frontend lists all of its workers there. */
  private static final long MAX_HEALTH_BYTES = 64 << 10;

  private static final int BUFFER = 32 << 10;

  /** A probe and a poll of a pod's metrics may run at the same time. */
  private static final int IDLE_CONNECTIONS = 2;

  private static final Executor VIRTUAL_THREADS = task -> Thread.ofVirtual().name("kvasir-probe").start(task);

  private final long timeoutNanos;
  private final PodClient client;

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
    EngineMetricsParser parser = new EngineMetricsParser();
    try (PodResponse response = get(pod, "/metrics")) {
      if (!read(response, MAX_METRICS_BYTES, response.status() == 200 ? parser : null)) {
        throw new PodException(Kind.PROTOCOL, "answered with more than " + MAX_METRICS_BYTES + " bytes", null);
      }
    } catch (PodException failed) {
      throw new CompletionException(failed.getMessage(), failed);
    }
    return parser.finish();
  }

  private PodResponse get(URI pod, String path) throws PodException {
    return client.call(new PodRequest(pod, "GET", path, Headers.EMPTY, new byte[0])).send();
  }

  /** Reads the body to its end, so that the connection can be used again; false where it is longer than the limit. */
  private boolean read(PodResponse response, long limit, @Nullable EngineMetricsParser parser) throws PodException {
    if (response.hasEnded()) {
      return true;
    }
    long began = System.nanoTime();
    long left = limit;
    byte[] buffer = new byte[parser == null ? 1 << 10 : BUFFER];
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
      if (parser != null) {
        parser.accept(buffer, read);
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
