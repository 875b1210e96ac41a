package io.kvasir.doctor.exam;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.execution.dialect.EngineRequest;
import io.kvasir.http.HttpCalls.Reply;
import io.kvasir.http.HttpCalls.Request;
import io.kvasir.http.HttpCalls;
import io.kvasir.prompt.EngineTokenizer;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.jspecify.annotations.Nullable;

/** The requests of an examination to one engine. Thread-safe; waits for the engine. */
final class EngineRequests implements EngineTokenizer {
  private static final String RANK = "X-data-parallel-rank";

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
    ObjectNode body = body(model, prompt, 1);
    if (target.ranks() > 1) {
      body.put("routed_dp_rank", 0);
    }
    JsonNode cached = post("/v1/completions", body.toString()).at("/usage/prompt_tokens_details/cached_tokens");
    return cached.isInt() ? cached.intValue() : null;
  }

  /** A request for the completion of a prompt. */
  static ObjectNode body(String model, ProbeSequence prompt, int maxTokens) {
    ObjectNode body = JsonNodeFactory.instance.objectNode().put("model", model);
    ArrayNode ids = body.putArray("prompt");
    for (int token : prompt.tokens()) {
      ids.add(token);
    }
    return body.put("max_tokens", maxTokens).put("temperature", 0).put("cache_salt", prompt.salt());
  }

  /**
   * Sends the engine's part of a divided request.
   *
   * @param id the same for both parts
   * @throws IOException when it does not answer as it should
   */
  byte[] send(EngineRequest part, String id) throws IOException {
    return answer(sendAsync(part, id));
  }

  /** Sends the engine's part of a divided request, whose {@link #answer} is waited for later. */
  CompletableFuture<Reply> sendAsync(EngineRequest part, String id) {
    Map<String, String> headers = new HashMap<>(Map.of(RANK, "0", "X-Request-Id", id));
    headers.putAll(part.headers());
    Request request = request(part.path(), part.body());
    for (Map.Entry<String, String> header : headers.entrySet()) {
      request = request.withHeader(header.getKey(), header.getValue());
    }
    return calls.sendAsync(request);
  }

  /** The answer to a part of a divided request; waits for it. */
  static byte[] answer(CompletableFuture<Reply> sent) throws IOException {
    try {
      return sent.get().requireStatus(200).body();
    } catch (ExecutionException failed) {
      Throwable cause = failed.getCause();
      throw new IOException(cause == null ? "no answer" : String.valueOf(cause.getMessage()), failed);
    } catch (InterruptedException stopped) {
      sent.cancel(true);
      Thread.currentThread().interrupt();
      throw new IOException("stopped while waiting for an engine", stopped);
    }
  }

  @Override
  public int[] tokenize(String jsonBody) throws IOException {
    return EngineTokenizer.ids(post("/tokenize", jsonBody));
  }

  private Request request(String path, byte[] json) {
    return Request.post(target.url().resolve(path), json, timeout).withBearer(target.key());
  }

  private JsonNode post(String path, String json) throws IOException {
    Request request = request(path, json.getBytes(StandardCharsets.UTF_8)).withHeader(RANK, "0");
    try {
      Reply reply = calls.send(request);
      return reply.requireStatus(200).jsonObject();
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
      throw new IOException("stopped while waiting for " + request.uri(), stopped);
    }
  }
}
