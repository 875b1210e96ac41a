package io.kvasir.app.node;

import io.kvasir.cell.EngineReport;
import io.kvasir.cell.HealthProbe;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.HttpTimeoutException;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executors;

/** Asks a pod's {@code GET /health} and {@code GET /metrics}. Owns its client. */
public final class HttpProbe implements HealthProbe, AutoCloseable {
  /** vLLM's are some 100 KB. */
  private static final long MOST_METRICS_BYTES = 8 << 20;

  private final Duration timeout;
  private final HttpClient client;

  HttpProbe(Duration timeout) {
    this.timeout = timeout;
    this.client =
        HttpClient.newBuilder()
            .connectTimeout(timeout)
            .version(HttpClient.Version.HTTP_1_1)
            .executor(Executors.newVirtualThreadPerTaskExecutor())
            .build();
  }

  @Override
  public CompletionStage<Boolean> probe(URI pod) {
    HttpRequest request = HttpRequest.newBuilder(pod.resolve("/health")).timeout(timeout).build();
    return client
        .sendAsync(request, BodyHandlers.discarding())
        .thenApply(answer -> answer.statusCode() / 100 == 2)
        .exceptionallyCompose(HttpProbe::failed);
  }

  @Override
  public CompletionStage<Map<Integer, EngineReport>> reports(URI pod) {
    HttpRequest request = HttpRequest.newBuilder(pod.resolve("/metrics")).timeout(timeout).build();
    return client
        .sendAsync(request, BodyHandlers.limiting(BodyHandlers.ofByteArray(), MOST_METRICS_BYTES))
        .thenApply(answer -> answer.statusCode() == 200 ? EngineMetricsParser.read(answer.body()) : Map.of());
  }

  /** A pod that is only slow keeps its connections. */
  private static CompletionStage<Boolean> failed(Throwable failure) {
    Throwable inner = failure instanceof CompletionException ? failure.getCause() : failure;
    Throwable cause = inner == null ? failure : inner;
    return cause instanceof HttpTimeoutException
        ? CompletableFuture.completedStage(false)
        : CompletableFuture.failedStage(cause);
  }

  @Override
  public void close() {
    client.shutdownNow();
    client.close();
  }
}
