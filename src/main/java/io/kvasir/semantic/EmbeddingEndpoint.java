package io.kvasir.semantic;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.semantic.EmbeddingException.Reason;
import java.io.IOException;
import java.net.ConnectException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/** An OpenAI-compatible {@code /v1/embeddings}. Thread-safe; the client is its owner's to close. */
final class EmbeddingEndpoint {
  private static final ObjectMapper JSON = new ObjectMapper();

  /** A vector of 4,096 numbers takes some 90 KB. */
  private static final long MOST_BYTES_A_TEXT = 1 << 20;

  private final HttpClient client;
  private final SemanticSettings.EmbeddingSettings settings;

  EmbeddingEndpoint(HttpClient client, SemanticSettings.EmbeddingSettings settings) {
    this.client = client;
    this.settings = settings;
  }

  /** One vector of length 1 for each text, or an {@link EmbeddingException}. */
  CompletableFuture<List<float[]>> embed(List<String> texts) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(settings.url())
            .header("Content-Type", "application/json")
            .POST(BodyPublishers.ofByteArray(body(texts)));
    if (settings.apiKey() != null) {
      request.header("Authorization", "Bearer " + settings.apiKey());
    }
    CompletableFuture<HttpResponse<byte[]>> call =
        client.sendAsync(
            request.build(), BodyHandlers.limiting(BodyHandlers.ofByteArray(), MOST_BYTES_A_TEXT * texts.size()));
    // Not derived from the call: whatever is, cancels it when it is cancelled itself.
    CompletableFuture<List<float[]>> vectors = new CompletableFuture<>();
    // Not the request's own timeout: that is over when an answer begins.
    var _ = call.copy()
        .orTimeout(settings.timeout().toNanos(), TimeUnit.NANOSECONDS)
        .whenComplete((answer, failure) -> {
          try {
            if (answer == null) {
              throw lost(call, failure);
            }
            vectors.complete(read(answer, texts.size()));
          } catch (EmbeddingException none) {
            vectors.completeExceptionally(none);
          }
        });
    return vectors;
  }

  private byte[] body(List<String> texts) {
    ObjectNode body = JSON.createObjectNode().put("model", settings.model()).put("encoding_format", "float");
    ArrayNode input = body.putArray("input");
    texts.forEach(input::add);
    // Not by a writer of bytes: it refuses halves of characters, which clients may send.
    return body.toString().getBytes(StandardCharsets.UTF_8);
  }

  private EmbeddingException lost(CompletableFuture<?> call, @Nullable Throwable failure) {
    if (failure instanceof TimeoutException) {
      call.cancel(true);
      return new EmbeddingException(Reason.UNREACHABLE, "no answer within " + settings.timeout().toMillis() + " ms");
    }
    Throwable cause = failure == null || failure.getCause() == null ? failure : failure.getCause();
    String said = cause == null ? null : cause.getMessage();
    return new EmbeddingException(
        Reason.UNREACHABLE,
        said != null ? said : cause instanceof ConnectException ? "it takes no connection" : String.valueOf(cause));
  }

  private static List<float[]> read(HttpResponse<byte[]> answer, int texts) throws EmbeddingException {
    if (answer.statusCode() != 200) {
      throw new EmbeddingException(Reason.STATUS, "status " + answer.statusCode());
    }
    JsonNode data;
    try {
      data = JSON.readTree(answer.body()).path("data");
    } catch (IOException none) {
      throw new EmbeddingException(Reason.GARBAGE, "the answer is not JSON");
    }
    if (data.size() != texts) {
      throw new EmbeddingException(
          Reason.GARBAGE, "the answer has " + data.size() + " embeddings for " + texts + " text(s)");
    }
    List<float @Nullable []> vectors = new ArrayList<>(Collections.nCopies(texts, null));
    for (int i = 0; i < texts; i++) {
      int index = data.get(i).path("index").asInt(i);
      float[] vector = vector(data.get(i).path("embedding"));
      if (vector == null || index < 0 || index >= texts || vectors.set(index, vector) != null) {
        throw new EmbeddingException(Reason.GARBAGE, "the answer's embedding " + i + " is none");
      }
    }
    return List.copyOf(vectors);
  }

  /** The numbers brought to length 1, null when they are none or all 0. */
  private static float @Nullable [] vector(JsonNode numbers) {
    float[] vector = new float[numbers.isArray() ? numbers.size() : 0];
    double square = 0;
    for (int i = 0; i < vector.length; i++) {
      if (!numbers.get(i).isNumber()) {
        return null;
      }
      vector[i] = numbers.get(i).floatValue();
      square += (double) vector[i] * vector[i];
    }
    if (!(square > 0) || Double.isInfinite(square)) {
      return null;
    }
    double length = Math.sqrt(square);
    for (int i = 0; i < vector.length; i++) {
      vector[i] = (float) (vector[i] / length);
    }
    return vector;
  }
}
