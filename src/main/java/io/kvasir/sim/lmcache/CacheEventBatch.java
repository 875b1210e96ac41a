package io.kvasir.sim.lmcache;

import static io.kvasir.sim.lmcache.FastApi.JSON;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.sim.lmcache.FastApi.HttpException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * What changed in an instance's caches, as {@code POST /events} of LMCache's coordinator takes it ({@code
 * mp_coordinator/api.py} of LMCache 0.5.6).
 *
 * @param instance whose caches
 * @param incarnation of the instance; a greater one has none of what earlier ones had in memory
 * @param sequence of the batch, from 1 on in each incarnation
 * @param type what happened to all entries
 * @param tier "l1", memory, or "l2", behind it
 * @param backend within the tier
 * @param entries the chunks
 * @param shared whether several instances have the backend
 */
record CacheEventBatch(
    String instance, long incarnation, long sequence, Type type, String tier, String backend, List<Entry> entries,
    boolean shared) {
  static final String MEMORY = "l1";
  private static final String STORAGE = "l2";

  /** What happened. */
  enum Type {
    STORE,
    DELETE,
    ACCESS,
    CONFIG;

    private static Type parse(BodyField type) throws HttpException {
      for (Type one : values()) {
        if (one.wireName().equals(type.value().asText())) {
          return one;
        }
      }
      throw type.notOneOf("'store', 'delete', 'access' or 'config'");
    }

    private String wireName() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /**
   * A chunk that it happened to.
   *
   * @param key it is stored under
   * @param bytes it takes
   * @param tokens the chunk's, unsigned; empty when unknown
   * @param offset of its first token in the prompt
   */
  record Entry(ChunkKey key, long bytes, int[] tokens, int offset) {}

  /** Copies the list. */
  CacheEventBatch {
    entries = List.copyOf(entries);
  }

  /** Reads one as LMCache does. */
  static CacheEventBatch parse(BodyField batch) throws HttpException {
    List<Entry> entries = new ArrayList<>();
    for (BodyField entry : batch.items("entries")) {
      List<BodyField> tokens = entry.items("token_ids");
      entries.add(new Entry(
          ChunkKey.parse(entry.get("key")), entry.integer("size_bytes", 0),
          IntStream.range(0, tokens.size()).map(i -> (int) tokens.get(i).value().longValue()).toArray(),
          (int) entry.integer("token_offset", -1)));
    }
    CacheEventBatch parsed = new CacheEventBatch(
        batch.get("instance_id").text(), batch.get("incarnation").integer(), batch.get("seq").integer(),
        Type.parse(batch.get("event_type")), batch.get("tier").text(), batch.get("backend").text(), entries,
        batch.value().path("shared").asBoolean(false));
    Optional<String> fault = parsed.fault();
    if (fault.isPresent()) {
      throw batch.invalid(fault.get());
    }
    return parsed;
  }

  private Optional<String> fault() {
    String fault = "";
    if (instance.isEmpty()) {
      fault = "instance_id must be non-empty";
    } else if (backend.isEmpty() && type != Type.ACCESS) {
      fault = "backend must be non-empty for " + type.wireName() + " batches";
    } else if (type == Type.CONFIG && !entries.isEmpty()) {
      fault = "config batches declare capacity and carry no entries";
    } else if (incarnation < 0) {
      fault = "incarnation must be >= 0 (got " + incarnation + ")";
    } else if (sequence < 1) {
      fault = "seq must be >= 1 (got " + sequence + ")";
    } else if (!tier.equals(MEMORY) && !tier.equals(STORAGE)) {
      fault = "cache events must target a concrete tier (got '" + tier + "')";
    }
    return fault.isEmpty() ? Optional.empty() : Optional.of(fault);
  }

  /** The JSON of one, of this moment. */
  JsonNode toJson() {
    ObjectNode json = JSON.createObjectNode()
        .put("instance_id", instance).put("incarnation", incarnation).put("seq", sequence)
        .put("event_type", type.wireName()).put("tier", tier).put("backend", backend);
    ArrayNode list = json.putArray("entries");
    for (Entry entry : entries) {
      ObjectNode row = list.addObject();
      row.set("key", entry.key().toJson());
      row.put("size_bytes", entry.bytes());
      ArrayNode tokens = row.putArray("token_ids");
      IntStream.of(entry.tokens()).mapToLong(Integer::toUnsignedLong).forEach(tokens::add);
      row.put("token_offset", entry.offset());
    }
    return json.put("shared", shared).put("ts", System.currentTimeMillis() / 1e3)
        .put("capacity_bytes", 0).put("capacity_revision", 0);
  }
}
