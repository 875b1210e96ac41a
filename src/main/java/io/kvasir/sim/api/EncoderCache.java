package io.kvasir.sim.api;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * The encoded images and sounds: an encoder writes its result under the item's name in a directory, as vLLM's example
 * connector does, and other engines take it from there instead of doing it again. An item's name is its {@code uuid},
 * else the digest of its content; it stands in the prompt where the item was, so the answer depends on it.
 * Thread-safe.
 */
public final class EncoderCache {
  /** What an item costs to encode, in tokens of a prompt. */
  static final int TOKENS = 256;

  private static final int MOST_ITEMS = 100_000;

  private static final Set<String> KINDS = Set.of("image_url", "audio_url", "input_audio", "video_url");

  private final @Nullable Path directory;
  /** The names of the latest items that were encoded; what has fallen out is encoded again. */
  private final Set<String> available = Collections.synchronizedSet(Collections.newSetFromMap(
      new LinkedHashMap<>() {
        private static final long serialVersionUID = 1;

        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Boolean> eldest) {
          return size() > MOST_ITEMS;
        }
      }));
  private final LongAdder loaded = new LongAdder();
  private final LongAdder encoded = new LongAdder();

  public EncoderCache(@Nullable Path directory) {
    this.directory = directory;
  }

  /**
   * A conversation whose items are named in its text.
   *
   * @param body to be templated
   * @param missing names of the items that are not encoded yet
   */
  record ScannedItems(ObjectNode body, List<String> names, List<String> missing) {}

  ScannedItems scan(ObjectNode body) {
    ObjectNode copy = body.deepCopy();
    List<String> names = new ArrayList<>();
    for (JsonNode turn : copy.path("messages")) {
      if (turn.path("content") instanceof ArrayNode parts) {
        for (int i = 0; i < parts.size(); i++) {
          if (isItem(parts.get(i))) {
            String name = name(parts.get(i));
            names.add(name);
            parts.set(i, JsonNodeFactory.instance.objectNode().put("type", "text").put("text", "<item " + name + ">"));
          }
        }
      }
    }
    List<String> missing = new ArrayList<>();
    for (String name : names) {
      if (available.contains(name)) {
        continue;
      }
      if (shared(name)) {
        available.add(name);
        loaded.increment();
      } else {
        missing.add(name);
      }
    }
    return new ScannedItems(copy, names, missing);
  }

  /** Records encoded items; an encoder writes them to the directory for others. */
  void recordEncoded(List<String> names, boolean forOthers) {
    for (String name : names) {
      encoded.increment();
      available.add(name);
      if (forOthers && directory != null) {
        try {
          Path file = file(directory, name);
          Files.createDirectories(file.getParent());
          Files.writeString(file, name);
        } catch (IOException e) {
          throw new UncheckedIOException("the encoder's work cannot be kept in " + directory, e);
        }
      }
    }
  }

  /** The {@code ec_transfer_params} of an encoder's answer. */
  static ObjectNode params(List<String> names) {
    ObjectNode params = JsonNodeFactory.instance.objectNode();
    ArrayNode items = params.putArray("ec_items");
    for (String name : names) {
      ObjectNode item = items.addObject().put("mm_hash", name);
      item.putArray("image_grid_thw").addArray().add(1).add(16).add(16);
    }
    return params;
  }

  public EncoderStats stats() {
    return new EncoderStats(loaded.sum(), encoded.sum());
  }

  private boolean shared(String name) {
    return directory != null && Files.isRegularFile(file(directory, name));
  }

  private static Path file(Path directory, String name) {
    return directory.resolve(digest(name)).resolve("encoder_cache.safetensors");
  }

  private static boolean isItem(JsonNode part) {
    return KINDS.contains(part.path("type").asText()) || KINDS.stream().anyMatch(part::has);
  }

  private static String name(JsonNode part) {
    if (part.hasNonNull("uuid")) {
      return part.path("uuid").asText();
    }
    ObjectNode content = part.deepCopy();
    content.remove("uuid");
    return digest(content.toString());
  }

  private static String digest(String text) {
    try {
      byte[] digest = MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
      return HexFormat.of().formatHex(digest, 0, 16);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("Every Java platform has SHA-256", e);
    }
  }
}
