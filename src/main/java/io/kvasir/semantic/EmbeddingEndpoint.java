package io.kvasir.semantic;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.http.HttpCallException;
import io.kvasir.http.HttpCalls;
import io.kvasir.http.HttpCalls.Request;
import io.kvasir.semantic.EmbeddingException.Reason;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;

/** An OpenAI-compatible {@code /v1/embeddings}. Thread-safe; the HTTP client is its owner's to close. */
final class EmbeddingEndpoint {
  /** A vector of 4,096 numbers takes some 90 KB. */
  private static final long MAX_BYTES_PER_TEXT = 1 << 20;

  private final HttpCalls calls;
  private final SemanticSettings.EmbeddingSettings settings;

  EmbeddingEndpoint(HttpCalls calls, SemanticSettings.EmbeddingSettings settings) {
    this.calls = calls;
    this.settings = settings;
  }

  /** One vector of length 1 for each text, or an {@link EmbeddingException}. */
  CompletableFuture<List<float[]>> embed(List<String> texts) {
    Request request =
        Request.post(settings.endpoint().url(), body(texts), settings.calls().timeout())
            .withBearer(settings.endpoint().apiKey())
            .withMaxBytes(MAX_BYTES_PER_TEXT * texts.size());
    return calls
        .sendAsync(request)
        .handle(
            (reply, failure) -> {
              try {
                if (reply == null) {
                  throw new EmbeddingException(Reason.UNREACHABLE, String.valueOf(failure.getMessage()));
                }
                return vectors(reply, texts.size());
              } catch (EmbeddingException none) {
                throw new CompletionException(none);
              } catch (RuntimeException unreadable) {
                throw new CompletionException(
                    new EmbeddingException(Reason.GARBAGE, "the answer cannot be read: " + unreadable));
              }
            });
  }

  private byte[] body(List<String> texts) {
    ObjectNode body =
        JsonNodeFactory.instance.objectNode().put("model", settings.endpoint().model()).put("encoding_format", "float");
    ArrayNode input = body.putArray("input");
    texts.forEach(input::add);
    // Not by a writer of bytes: it rejects unpaired surrogates, which clients may send.
    return body.toString().getBytes(StandardCharsets.UTF_8);
  }

  private static List<float[]> vectors(HttpCalls.Reply reply, int texts) throws EmbeddingException {
    if (reply.status() != 200) {
      throw new EmbeddingException(Reason.STATUS, "status " + reply.status());
    }
    JsonNode data;
    try {
      data = reply.json().path("data");
    } catch (HttpCallException none) {
      throw new EmbeddingException(Reason.GARBAGE, "the answer is not JSON");
    }
    if (!data.isArray()) {
      throw new EmbeddingException(Reason.GARBAGE, "the answer has no list \"data\"");
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

  /** The vector scaled to length 1; null when there are no numbers or all are 0. */
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
