package io.kvasir.app.node;

import io.kvasir.cell.EngineReport;
import io.kvasir.cell.HealthProbe;
import io.kvasir.http.HttpCallException;
import io.kvasir.http.HttpCallException.Kind;
import io.kvasir.http.HttpCalls;
import io.kvasir.http.HttpCalls.Request;
import io.kvasir.http.client.PodKeys;
import java.net.URI;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;

/** Health probes by a pod's {@code GET /health} and {@code GET /metrics}. Thread-safe. Owns its HTTP client. */
public final class HttpProbe implements HealthProbe, AutoCloseable {
  /** vLLM's metrics have some 100 KB. */
  private static final long MAX_METRICS_BYTES = 8 << 20;

  private final Duration timeout;
  private final PodKeys keys;
  private final HttpCalls calls;

  /**
   * A probe.
   *
   * @param timeout for each exchange
   * @param tls for https pods, null for what the JVM trusts
   * @param keys the API keys of pods
   */
  HttpProbe(Duration timeout, @Nullable SSLContext tls, PodKeys keys) {
    this.timeout = timeout;
    this.keys = keys;
    this.calls = new HttpCalls(null, tls);
  }

  /** A pod that is only slow is unhealthy but connected: the stage fails for those alone that cannot be reached. */
  @Override
  public CompletionStage<Boolean> probe(URI pod) {
    return calls
        .sendAsync(Request.get(pod.resolve("/health"), timeout).withBearer(keys.of(pod)))
        .handle(
            (reply, failure) -> {
              if (reply != null) {
                return reply.status() / 100 == 2;
              }
              if (failure instanceof HttpCallException late && late.kind() == Kind.TIMEOUT) {
                return false;
              }
              throw new CompletionException(failure.getMessage(), failure);
            });
  }

  @Override
  public CompletionStage<Map<Integer, EngineReport>> reports(URI pod) {
    return calls
        .sendAsync(
            Request.get(pod.resolve("/metrics"), timeout).withMaxBytes(MAX_METRICS_BYTES).withBearer(keys.of(pod)))
        .thenApply(reply -> reply.status() == 200 ? EngineMetricsParser.read(reply.body()) : Map.of());
  }

  @Override
  public void close() {
    calls.close();
  }
}
