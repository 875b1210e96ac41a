package io.kvasir.sim.operations;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.sim.core.GenerationRequest;
import io.kvasir.sim.core.RequestDispatcher;
import io.kvasir.sim.json.EngineApiException;
import io.kvasir.sim.json.RequestBody;
import io.kvasir.sim.settings.HostTierSettings;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;

/**
 * The prefetches that LMCache's coordinator forwards. There is no tier below host memory to fetch from, so those chunks
 * are found that host memory has; they count as used, and so are evicted later. Thread-safe.
 */
final class PrefetchApi {
  private static final int REMEMBERED = 10_000;

  private final RequestDispatcher dispatcher;
  private final Map<String, PrefetchJob> jobs =
      Collections.synchronizedMap(
          new LinkedHashMap<>() {
            private static final long serialVersionUID = 1;

            @Override
            protected boolean removeEldestEntry(Map.Entry<String, PrefetchJob> eldest) {
              return size() > REMEMBERED;
            }
          });

  private record PrefetchJob(int chunks, CompletableFuture<Integer> found) {}

  PrefetchApi(RequestDispatcher dispatcher) {
    this.dispatcher = dispatcher;
  }

  /** {@code POST /cache/prefetches}. */
  ObjectNode submit(RequestBody body) throws EngineApiException {
    JsonNode tokens = body.get("token_ids");
    if (tokens == null || !tokens.isArray()) {
      throw EngineApiException.missing("token_ids");
    }
    int[] prompt = GenerationRequest.ids(tokens, "token_ids");
    int chunks = prompt.length / HostTierSettings.CHUNK_TOKENS;
    ObjectNode answer = JsonNodeFactory.instance.objectNode();
    if (chunks == 0) {
      return answer.put("chunks", 0).put("status", "noop");
    }
    String salt = body.text("cache_salt");
    String id = UUID.randomUUID().toString();
    jobs.put(id, new PrefetchJob(chunks, dispatcher.hostChunks(prompt, salt == null || salt.isEmpty() ? null : salt)));
    return answer.put("request_id", id).put("chunks", chunks).put("status", "submitted");
  }

  /** {@code GET /cache/prefetches/ID}; a complete one is reported once. */
  ObjectNode status(String id) throws EngineApiException {
    PrefetchJob job = jobs.get(id);
    if (job == null) {
      throw EngineApiException.notFound(
          "unknown prefetch request_id='" + id + "' (already completed or never submitted)", "request_id");
    }
    ObjectNode answer = JsonNodeFactory.instance.objectNode().put("request_id", id);
    if (!job.found().isDone()) {
      return answer.put("status", "pending");
    }
    jobs.remove(id);
    return answer.put("status", "completed").put("found_keys", job.found().join()).put("total_keys", job.chunks());
  }
}
