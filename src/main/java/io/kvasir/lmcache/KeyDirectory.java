package io.kvasir.lmcache;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.http.HttpCalls;
import io.kvasir.http.HttpCalls.Request;
import io.kvasir.index.Tier;
import io.kvasir.telemetry.LineRate;
import io.kvasir.telemetry.Problem;
import io.kvasir.time.NanoClock;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The key directory of the coordinator of LMCache's multi-process mode (LMCache 0.5.6, {@code
 * lmcache/v1/mp_coordinator/http_apis/directory_api.py} and {@code schemas.py}). Unlike the controller it names every
 * holder of a chunk, hears of what instances drop, and keeps models and salts apart. Thread-safe; the HTTP client
 * beneath is its owner's to close.
 */
final class KeyDirectory implements LookupSource {
  private static final Logger LOG = LoggerFactory.getLogger(KeyDirectory.class);

  /** Answers repeat the tokens of each chunk, for each rank: some 4 MB of JSON at most, half of what is accepted. */
  private static final int MAX_TOKENS = 1 << 19;

  private static final JsonMapper JSON = new JsonMapper();
  private static final Duration POLL_TIMEOUT = Duration.ofSeconds(5);
  private static final String PRIVATE_MEMORY = "l1";

  private final Coordinator coordinator;
  private final KeyDirectorySettings settings;
  private final int chunkTokens;
  private final Duration lookupTimeout;
  private final HttpCalls calls;
  /** Coordinators behind one address may differ, and answer in turn. */
  private final LineRate lines = new LineRate(1, NanoClock.SYSTEM);

  private volatile @Nullable Problem fault;

  KeyDirectory(LmCacheSettings limits, KeyDirectorySettings settings, HttpCalls calls) {
    this.coordinator = new Coordinator(limits.service(), calls);
    this.settings = settings;
    this.chunkTokens = limits.lookups().chunkTokens();
    this.lookupTimeout = limits.lookups().timeout();
    this.calls = calls;
  }

  @Override
  public String name() {
    return coordinator.name();
  }

  @Override
  public URI address() {
    return coordinator.address();
  }

  /** The coordinator's instances, with the chunks that each holds in memory. */
  @Override
  public List<ControllerWorker> workers() throws IOException, InterruptedException {
    Request stats = Request.get(address().resolve("/directory/stats"), POLL_TIMEOUT);
    JsonNode keys = calls.send(stats).requireStatus(200).jsonObject().path("l1_keys_by_instance");
    if (!keys.isObject()) {
      throw new IOException("the directory's figures have no object \"l1_keys_by_instance\"");
    }
    List<ControllerWorker> rows = new ArrayList<>();
    for (ControllerWorker row : coordinator.workers()) {
      long held = Math.max(0, keys.path(row.instance()).asLong(0));
      rows.add(
          new ControllerWorker(row.instance(), row.rank(), row.ip(), row.registered(), row.lastHeartbeat(), held));
    }
    return rows;
  }

  @Override
  public CompletableFuture<List<Location>> lookup(Prompt prompt) {
    int chunks = Math.min(prompt.tokens().length, MAX_TOKENS / settings.worldSize()) / chunkTokens;
    return calls
        .sendAsync(Request.post(address().resolve("/directory/lookup"), body(prompt, chunks), lookupTimeout))
        .thenApply(reply -> {
          try {
            return locations(reply.requireStatus(200).jsonObject(), chunks);
          } catch (IOException unusable) {
            throw new CompletionException(unusable);
          }
        });
  }

  @Override
  public boolean separatesModels() {
    return true;
  }

  @Override
  public Optional<Problem> fault() {
    return Optional.ofNullable(fault);
  }

  private String differentChunks(int chunks, int told) {
    Problem problem =
        Problem.warning(
            "to the LMCache coordinator %s %d tokens are %d chunks, and here %d".formatted(
                address(), chunks * chunkTokens, told, chunks),
            "set kvasir.lmcache.chunk-size as its --chunk-size; nothing is found meanwhile");
    long leftOut = fault == null ? lines.take() : -1;
    if (leftOut >= 0) {
      LOG.warn("{}{}", problem.line(), LineRate.note(leftOut));
    }
    fault = problem;
    return problem.what();
  }

  private byte[] body(Prompt prompt, int chunks) {
    ObjectNode body =
        JSON.createObjectNode()
            .put("model_name", settings.models().getOrDefault(prompt.model(), prompt.model()))
            .put("world_size", settings.worldSize())
            .put("cache_salt", prompt.salt());
    ArrayNode tokens = body.putArray("token_ids");
    for (int i = 0; i < chunks * chunkTokens; i++) {
      tokens.add(Integer.toUnsignedLong(prompt.tokens()[i]));
    }
    try {
      return JSON.writeValueAsBytes(body);
    } catch (IOException impossible) {
      throw new UncheckedIOException(impossible);
    }
  }

  private List<Location> locations(JsonNode answer, int chunks) throws IOException {
    if (!answer.path("chunks").isInt() || !answer.path("results").isArray()) {
      throw new IOException("the answer has no number \"chunks\" or no list \"results\"");
    }
    if (answer.path("chunks").intValue() != chunks) {
      throw new IOException(differentChunks(chunks, answer.path("chunks").intValue()));
    }
    fault = null;
    // By the chunk's hash, which stands for all chunks before it, too: one row for each rank, and group of layers.
    Map<String, List<JsonNode>> byChunk = new LinkedHashMap<>();
    for (JsonNode row : answer.path("results")) {
      byChunk.computeIfAbsent(row.at("/key/chunk_hash_hex").asText(), _ -> new ArrayList<>()).add(row);
    }
    Ends ends = new Ends(chunkTokens);
    for (List<JsonNode> rows : byChunk.values()) {
      if (!ends.advance(rows)) {
        break;
      }
    }
    return ends.locations();
  }

  /** How far each holder goes without a gap. */
  private static final class Ends {
    private final int chunkTokens;
    private final Map<String, Integer> inMemory = new HashMap<>();
    private final Map<String, Integer> nearby = new HashMap<>();
    private int anywhere;
    private int chunks;

    Ends(int chunkTokens) {
      this.chunkTokens = chunkTokens;
    }

    /** Takes the next chunk, of which a holder has to have all rows; false when nobody goes on with it. */
    boolean advance(List<JsonNode> rows) {
      Map<String, Integer> memoryRows = new HashMap<>();
      Map<String, Integer> nearbyRows = new HashMap<>();
      int sharedRows = 0;
      for (JsonNode row : rows) {
        Set<String> memory = new HashSet<>();
        Set<String> any = new HashSet<>();
        boolean shared = false;
        for (JsonNode placement : row.path("placements")) {
          String instance = placement.path("instance_id").asText("");
          if (placement.path("shared").asBoolean(false)) {
            shared = true;
          } else if (!instance.isEmpty()) {
            any.add(instance);
            if (placement.path("tier").asText().equals(PRIVATE_MEMORY)) {
              memory.add(instance);
            }
          }
        }
        memory.forEach(instance -> memoryRows.merge(instance, 1, Integer::sum));
        any.forEach(instance -> nearbyRows.merge(instance, 1, Integer::sum));
        sharedRows += shared ? 1 : 0;
      }
      boolean goesOn = advance(inMemory, memoryRows, rows.size());
      goesOn |= advance(nearby, nearbyRows, rows.size());
      if (anywhere == chunks && sharedRows == rows.size()) {
        anywhere++;
        goesOn = true;
      }
      chunks++;
      return goesOn;
    }

    private boolean advance(Map<String, Integer> ends, Map<String, Integer> held, int all) {
      boolean goesOn = false;
      for (Map.Entry<String, Integer> one : held.entrySet()) {
        if (one.getValue() == all && ends.getOrDefault(one.getKey(), 0) == chunks) {
          ends.put(one.getKey(), chunks + 1);
          goesOn = true;
        }
      }
      return goesOn;
    }

    List<Location> locations() {
      List<Location> locations = new ArrayList<>();
      nearby.forEach((instance, end) -> {
        Tier tier = inMemory.getOrDefault(instance, 0).equals(end) ? Tier.HOST : Tier.DISK;
        locations.add(new Location(instance, tier, end * chunkTokens));
      });
      if (anywhere > 0) {
        locations.add(new Location("", Tier.REMOTE, anywhere * chunkTokens));
      }
      return locations;
    }
  }
}
