package io.kvasir.sim.lmcache;

import static io.kvasir.sim.lmcache.FastApi.JSON;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.sim.http.SimHttpExchange;
import io.kvasir.sim.lmcache.FastApi.HttpException;
import io.kvasir.sim.lmcache.FastApi.Reply;
import io.kvasir.sim.lmcache.PlacementDirectory.Figures;
import io.kvasir.sim.lmcache.PlacementDirectory.KeyRow;
import io.kvasir.sim.lmcache.PlacementDirectory.Outcome;
import io.kvasir.sim.lmcache.PlacementDirectory.Placement;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * What the coordinator answers about chunks, as LMCache 0.5.6 does without CacheBlend: {@code /directory/lookup},
 * {@code /directory/stats}, and {@code /events}, where instances report. Chunks have 256 tokens.
 */
final class DirectoryApi {
  private static final int CHUNK_TOKENS = 256;
  private static final int MAX_TOKENS = 1_000_000;
  /** Of all shares of a prompt's chunks: as many as 256 workers have. LMCache has no such bound. */
  private static final int MAX_KEYS = MAX_TOKENS / CHUNK_TOKENS * 256;

  private final PlacementDirectory directory;

  DirectoryApi(PlacementDirectory directory) {
    this.directory = directory;
  }

  /** Whether a path is answered by {@link #answer}. */
  static boolean serves(String path) {
    return path.equals("/events") || path.startsWith("/directory/");
  }

  Reply answer(SimHttpExchange request) throws HttpException {
    return switch (request.path()) {
      case "/events" -> {
        requireMethod("POST", request);
        yield Reply.ok(events(BodyField.of(FastApi.parse(request.body()))));
      }
      case "/directory/lookup" -> {
        requireMethod("POST", request);
        yield Reply.ok(lookup(BodyField.of(FastApi.parse(request.body()))));
      }
      case "/directory/stats" -> {
        requireMethod("GET", request);
        yield Reply.ok(stats());
      }
      default -> throw FastApi.notFound();
    };
  }

  private static void requireMethod(String method, SimHttpExchange request) throws HttpException {
    if (!request.method().equals(method)) {
      throw FastApi.notAllowed();
    }
  }

  private JsonNode events(BodyField body) throws HttpException {
    List<CacheEventBatch> batches = new ArrayList<>();
    for (BodyField batch : body.items("batches")) {
      batches.add(CacheEventBatch.parse(batch));
    }
    for (CacheEventBatch batch : batches) {
      for (CacheEventBatch.Entry entry : batch.entries()) {
        requireValid(body.get("batches"), entry.key().fault());
      }
    }
    Map<Outcome, Integer> outcomes = new EnumMap<>(Outcome.class);
    batches.forEach(batch -> outcomes.merge(directory.apply(batch), 1, Integer::sum));
    return JSON.createObjectNode()
        .put("applied", outcomes.getOrDefault(Outcome.APPLIED, 0))
        .put("duplicates", outcomes.getOrDefault(Outcome.DUPLICATE, 0))
        .put("stale", outcomes.getOrDefault(Outcome.STALE, 0));
  }

  private JsonNode lookup(BodyField body) throws HttpException {
    List<BodyField> named = body.items("keys");
    boolean hasTokens = body.value().path("token_ids").size() > 0;
    int[] tokens = hasTokens ? FastApi.tokens(body.value(), "token_ids") : new int[0];
    List<ChunkKey> keys = new ArrayList<>();
    for (BodyField key : named) {
      keys.add(ChunkKey.parse(key));
    }
    for (ChunkKey key : keys) {
      requireValid(body.get("keys"), key.fault());
    }
    String model = body.text("model_name", "");
    int workers = workers(body);
    if (named.isEmpty() != hasTokens) {
      throw body.invalid("supply exactly one of 'keys' or 'token_ids'");
    }
    if (!hasTokens) {
      // The spelling of a key's hash comes back as it was.
      List<KeyRow> rows = directory.lookup(keys);
      return answer(keys.size(), IntStream.range(0, keys.size()).mapToObj(i -> {
        ObjectNode row = row(rows.get(i));
        ((ObjectNode) row.get("key")).set("chunk_hash_hex", named.get(i).value().get("chunk_hash_hex"));
        return row;
      }).toList());
    }
    if (model.isEmpty()) {
      throw body.invalid("'model_name' is required with 'token_ids'");
    }
    List<String> chunks = TokenHasher.chunks(tokens, CHUNK_TOKENS);
    List<ChunkKey> shares = shares(chunks, model, workers, body.text("cache_salt", ""), tokens.length);
    return answer(chunks.size(), directory.lookupAllGroups(shares).stream().map(DirectoryApi::row).toList());
  }

  private static int workers(BodyField body) throws HttpException {
    long workers = body.integer("world_size", 1);
    if (workers < 1 || workers > Integer.MAX_VALUE) {
      throw body.get("world_size").tooSmall(1);
    }
    return (int) workers;
  }

  /** The keys of all workers' shares of the chunks. */
  private static List<ChunkKey> shares(List<String> chunks, String model, int workers, String salt, int tokens)
      throws HttpException {
    if (tokens > MAX_TOKENS) {
      throw new HttpException(
          400, "too many token_ids in a single request (limit=%d, got=%d)".formatted(MAX_TOKENS, tokens));
    }
    if ((long) chunks.size() * workers > MAX_KEYS) {
      throw new HttpException(400, "world_size is too large for so many token_ids (limit=%d keys)".formatted(MAX_KEYS));
    }
    requireAcceptable(ChunkKey.saltFault(salt));
    List<ChunkKey> keys = new ArrayList<>();
    for (String chunk : chunks) {
      for (int worker = 0; worker < workers; worker++) {
        ChunkKey key = new ChunkKey(chunk, model, ChunkKey.kvRank(workers, worker), 0, salt);
        requireAcceptable(key.fault());
        keys.add(key);
      }
    }
    return keys;
  }

  private static void requireAcceptable(Optional<String> fault) throws HttpException {
    if (fault.isPresent()) {
      throw new HttpException(400, fault.get());
    }
  }

  private static void requireValid(BodyField list, Optional<String> fault) throws HttpException {
    if (fault.isPresent()) {
      throw list.invalid(fault.get());
    }
  }

  private static JsonNode answer(int chunks, List<ObjectNode> rows) {
    ObjectNode answer = JSON.createObjectNode().put("chunks", chunks);
    answer.putArray("results").addAll(rows);
    return answer;
  }

  private static ObjectNode row(KeyRow row) {
    ObjectNode json = JSON.createObjectNode();
    json.set("key", row.key().toJson());
    ArrayNode placements = json.putArray("placements");
    for (Placement placement : row.placements()) {
      placements.addObject()
          .put("instance_id", placement.instance()).put("incarnation", placement.incarnation())
          .put("tier", placement.tier()).put("backend", placement.backend()).put("size_bytes", placement.bytes())
          .put("shared", placement.shared());
    }
    ArrayNode tokens = json.putArray("token_ids");
    IntStream.of(row.tokens()).mapToLong(Integer::toUnsignedLong).forEach(tokens::add);
    return json.put("access_count", row.accesses());
  }

  private JsonNode stats() {
    Figures figures = directory.figures();
    ObjectNode json = JSON.createObjectNode()
        .put("num_keys", figures.keys())
        .put("num_placements", figures.memoryCopies() + figures.storageCopies());
    ObjectNode keys = json.putObject("l1_keys_by_instance");
    figures.inMemory().forEach(keys::put);
    json.putObject("blend")
        .put("num_contents", 0).put("num_chunks", 0).put("num_claims", 0).put("num_namespaces", 0)
        .put("table_size", 1024);
    return json.put("l1_count", figures.memoryCopies()).put("l1_size_bytes", figures.memoryBytes())
        .put("l2_count", figures.storageCopies()).put("l2_size_bytes", figures.storageBytes());
  }
}
