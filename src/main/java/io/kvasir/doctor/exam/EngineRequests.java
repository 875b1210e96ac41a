package io.kvasir.doctor.exam;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.http.HttpCalls.Reply;
import io.kvasir.http.HttpCalls.Request;
import io.kvasir.http.HttpCalls;
import io.kvasir.prompt.EngineTokenizer;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** The requests of an examination to one engine. Thread-safe; waits for the engine. */
final class EngineRequests implements EngineTokenizer {
  private final HttpCalls calls;
  private final EngineTarget target;
  private final Duration timeout;

  EngineRequests(HttpCalls calls, EngineTarget target, Duration timeout) {
    this.calls = calls;
    this.target = target;
    this.timeout = timeout;
  }

  /**
   * Sends a prompt, for which the engine's first rank generates one token.
   *
   * @return the tokens found in the cache, null when the engine does not report them
   * @throws IOException when it does not answer as it should
   */
  @Nullable Integer generate(String model, ProbeSequence prompt) throws IOException {
    ObjectNode body = JsonNodeFactory.instance.objectNode().put("model", model);
    ArrayNode ids = body.putArray("prompt");
    for (int token : prompt.tokens()) {
      ids.add(token);
    }
    body.put("max_tokens", 1).put("temperature", 0).put("cache_salt", prompt.salt());
    if (target.ranks() > 1) {
      body.put("routed_dp_rank", 0);
    }
    JsonNode cached = post("/v1/completions", body.toString()).at("/usage/prompt_tokens_details/cached_tokens");
    return cached.isInt() ? cached.intValue() : null;
  }

  @Override
  public int[] tokenize(String jsonBody) throws IOException {
    return EngineTokenizer.ids(post("/tokenize", jsonBody));
  }

  private JsonNode post(String path, String json) throws IOException {
    Request request =
        Request.post(target.url().resolve(path), json.getBytes(StandardCharsets.UTF_8), timeout)
            .withBearer(target.key())
            .withHeader("X-data-parallel-rank", "0");
    try {
      Reply reply = calls.send(request);
      return reply.requireStatus(200).jsonObject();
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
      throw new IOException("stopped while waiting for " + request.uri(), stopped);
    }
  }
}
