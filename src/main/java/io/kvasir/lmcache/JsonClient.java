package io.kvasir.lmcache;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.HttpTimeoutException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Asks what answers with JSON objects, on one pool of connections. Thread-safe. */
final class JsonClient implements AutoCloseable {
  private static final JsonMapper JSON = new JsonMapper();
  private static final Duration CONNECT = Duration.ofSeconds(2);
  private static final Duration LONGEST = Duration.ofSeconds(5);

  /** A row of a list takes some 250 bytes. */
  private static final long MOST_BYTES = 8 << 20;

  private final HttpClient client;

  /** Whoever was asked answered with another status than 200. */
  static final class ErrorStatusException extends IOException {
    private static final long serialVersionUID = 1;

    ErrorStatusException(String message) {
      super(message);
    }
  }

  /** Whose work is done by an executor, which stays its owner's to close. */
  JsonClient(Executor executor) {
    this.client =
        HttpClient.newBuilder().connectTimeout(CONNECT).version(HttpClient.Version.HTTP_1_1).executor(executor).build();
  }

  /**
   * The answer. Waits as long as the request says.
   *
   * @throws IOException when there is none; the message says why
   */
  JsonNode send(HttpRequest request) throws IOException, InterruptedException {
    CompletableFuture<HttpResponse<byte[]>> answer = begin(request);
    try {
      // The client's own timeout ends with the head of an answer.
      return content(answer.get(request.timeout().orElse(LONGEST).toNanos(), TimeUnit.NANOSECONDS));
    } catch (TimeoutException late) {
      throw new HttpTimeoutException(request.uri() + " did not answer in time");
    } catch (ExecutionException failed) {
      throw failed.getCause() instanceof IOException why ? why : new IOException(failed.getCause());
    } finally {
      answer.cancel(true);
    }
  }

  /** The answer; fails when it does not come as long as the request says. */
  CompletableFuture<JsonNode> sendAsync(HttpRequest request) {
    return begin(request)
        .thenApply(
            answer -> {
              try {
                return content(answer);
              } catch (IOException unusable) {
                throw new UncheckedIOException(unusable);
              }
            });
  }

  private CompletableFuture<HttpResponse<byte[]>> begin(HttpRequest request) {
    return client.sendAsync(request, BodyHandlers.limiting(BodyHandlers.ofByteArray(), MOST_BYTES));
  }

  private static JsonNode content(HttpResponse<byte[]> answer) throws IOException {
    if (answer.statusCode() != 200) {
      throw new ErrorStatusException(answer.uri() + " answered " + answer.statusCode());
    }
    JsonNode content;
    try {
      content = JSON.readTree(answer.body());
    } catch (JsonProcessingException broken) {
      throw new IOException(answer.uri() + " answered with no whole JSON: " + broken.getOriginalMessage(), broken);
    }
    if (content == null || !content.isObject()) {
      throw new IOException(answer.uri() + " answered with no JSON object");
    }
    return content;
  }

  @Override
  public void close() {
    client.shutdownNow();
    client.close();
  }
}
