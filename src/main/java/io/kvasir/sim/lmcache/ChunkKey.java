package io.kvasir.sim.lmcache;

import static io.kvasir.sim.lmcache.FastApi.JSON;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.sim.lmcache.FastApi.HttpException;
import java.util.HexFormat;
import java.util.Locale;
import java.util.Optional;

/**
 * What LMCache's multi-process mode stores a worker's share of a chunk under, its {@code ObjectKey} ({@code
 * distributed/api.py} of LMCache 0.5.6).
 *
 * @param chunkHash of the chunk and all before it, in hexadecimal digits
 * @param model that the engine was started with
 * @param kvRank which share of the chunk, as {@link #kvRank} has it
 * @param objectGroup which of the groups of layers that are stored apart
 * @param salt that keeps tenants apart; empty without one
 */
record ChunkKey(String chunkHash, String model, long kvRank, int objectGroup, String salt) {
  private static final String FORBIDDEN_IN_SALTS = "@/\\\0";
  private static final int MAX_SALT = 128;

  /** Reads one as LMCache does. */
  static ChunkKey parse(BodyField key) throws HttpException {
    return new ChunkKey(
        key.get("chunk_hash_hex").text().toLowerCase(Locale.ROOT),
        key.get("model_name").text(),
        key.get("kv_rank").integer(),
        (int) key.integer("object_group_id", 0),
        key.text("cache_salt", ""));
  }

  /** The number of a worker's share: how many workers there are, which one, and both again within its node. */
  static long kvRank(int workers, int worker) {
    return ((long) workers << 24) | ((long) worker << 16) | ((long) workers << 8) | worker;
  }

  /** The same chunk and share, of another group of layers. */
  ChunkKey withObjectGroup(int group) {
    return new ChunkKey(chunkHash, model, kvRank, group, salt);
  }

  /** What LMCache would say is wrong with it. */
  Optional<String> fault() {
    try {
      HexFormat.of().parseHex(chunkHash);
    } catch (IllegalArgumentException notHexadecimal) {
      int at = 0;
      while (at < chunkHash.length() && HexFormat.isHexDigit(chunkHash.charAt(at))) {
        at++;
      }
      return Optional.of("non-hexadecimal number found in fromhex() arg at position " + at);
    }
    if (model.contains("@")) {
      return Optional.of("model_name must not contain '@' (got '" + model + "')");
    }
    if (objectGroup < 0) {
      return Optional.of("object_group_id must be >= 0 (got " + objectGroup + ")");
    }
    return saltFault(salt);
  }

  /** What LMCache would say is wrong with a salt. */
  static Optional<String> saltFault(String salt) {
    for (int i = 0; i < FORBIDDEN_IN_SALTS.length(); i++) {
      char character = FORBIDDEN_IN_SALTS.charAt(i);
      if (salt.indexOf(character) >= 0) {
        return Optional.of("cache_salt must not contain frozenset({'%s'}) (got '%s')".formatted(character, salt));
      }
    }
    return salt.length() > MAX_SALT
        ? Optional.of("cache_salt exceeds max length %d (got %d)".formatted(MAX_SALT, salt.length()))
        : Optional.empty();
  }

  ObjectNode toJson() {
    return JSON.createObjectNode()
        .put("chunk_hash_hex", chunkHash)
        .put("model_name", model)
        .put("kv_rank", kvRank)
        .put("object_group_id", objectGroup)
        .put("cache_salt", salt);
  }
}
