package io.kvasir.app;

import io.kvasir.cell.HealthProbe;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executors;

/** Asks a pod's {@code GET /health}. Owns its client. */
final class HttpProbe implements HealthProbe, AutoCloseable {
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
        .handle((answer, failed) -> failed == null && answer.statusCode() / 100 == 2);
  }

  @Override
  public void close() {
    client.shutdownNow();
    client.close();
  }
}
