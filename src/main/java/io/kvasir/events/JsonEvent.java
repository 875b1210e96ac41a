package io.kvasir.events;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.events.EventDraft.Kind;
import io.kvasir.events.KvEvent.Spec;
import io.kvasir.index.Tier;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** The decoder of one event of a JSON batch; faults name the field's path. One thread at a time. */
final class JsonEvent {
  private static final int MAX_BLOCK_SIZE = 1 << 20;
  private static final int SHOWN = 60;

  private final DecodedMessage.FaultCollector faults;
  private String path = "";

  JsonEvent(DecodedMessage.FaultCollector faults) {
    this.faults = faults;
  }

  /**
   * The event; null for one of an unknown kind.
   *
   * @param at its path in the batch, empty for an event by itself
   * @throws WireException when it cannot be read
   */
  @Nullable KvEvent read(String at, JsonNode tree) {
    path = at;
    if (!tree.isObject()) {
      throw wrong("", "has to be an event {...}", tree);
    }
    JsonNode type = tree.get("type");
    if (type == null || !type.isTextual()) {
      throw wrong("type", "has to be BlockStored, BlockRemoved or AllBlocksCleared", type);
    }
    Kind kind = named(EventDraft.KINDS, type.textValue());
    return switch (kind == null ? Kind.UNKNOWN : kind) {
      case STORED -> stored(tree);
      case REMOVED -> new KvEvent.Removed(keys(tree.get("block_hashes")), tier(tree), group(tree));
      case CLEARED -> new KvEvent.Cleared();
      case UNKNOWN, UNSET -> {
        faults.add(DecodeFault.UNKNOWN_EVENT, "unknown event");
        yield null;
      }
    };
  }

  private KvEvent stored(JsonNode tree) {
    long[] keys = keys(tree.get("block_hashes"));
    JsonNode parentNode = member(tree, "parent_block_hash");
    long parent = parentNode == null ? 0 : key(parentNode, "parent_block_hash");
    int[] tokens = tokens(tree.get("token_ids"));
    JsonNode size = tree.get("block_size");
    if (size == null || !size.isInt() || size.intValue() < 0 || size.intValue() > MAX_BLOCK_SIZE) {
      throw wrong("block_size", "has to be a whole number from 0 to " + MAX_BLOCK_SIZE, size);
    }
    String lora = text(tree, "lora_name");
    JsonNode loraId = member(tree, "lora_id");
    if (lora == null && loraId != null) {
      lora = "lora id " + loraId.asText();
    }
    return new KvEvent.Stored(
        parent == 0, parent, keys, tokens, size.intValue(), tier(tree), lora, text(tree, "cache_salt"), group(tree),
        spec(tree), extraKeys(member(tree, "extra_keys")), false, lookahead(tree, keys.length, size.intValue()));
  }

  /** How prompts have to go on after each block: by a field of its own, or by token pairs. */
  private KvEvent.Lookahead lookahead(JsonNode tree, int blocks, int blockSize) {
    JsonNode lookahead = member(tree, "lookahead_token_ids");
    if (lookahead != null) {
      if (!lookahead.isArray() || lookahead.size() != blocks) {
        throw wrong("lookahead_token_ids", "has to be a list with a list of token ids for each block", lookahead);
      }
      int[] next = new int[blocks];
      int least = blocks == 0 ? 1 : Integer.MAX_VALUE;
      for (int i = 0; i < blocks; i++) {
        least = Math.min(least, lookahead.get(i).size());
        next[i] = token(lookahead.get(i).path(0), "lookahead_token_ids[" + i + "][0]");
      }
      return new KvEvent.Lookahead(next, least);
    }
    JsonNode tokens = tree.path("token_ids");
    if (!tokens.path(0).isArray()) {
      return KvEvent.Lookahead.ANY;
    }
    int[] seconds = new int[tokens.size()];
    for (int i = 0; i < seconds.length; i++) {
      seconds[i] = token(tokens.get(i).path(1), "token_ids[" + i + "][1]");
    }
    return EventDraft.ofPairs(seconds, blocks, blockSize);
  }

  private long[] keys(@Nullable JsonNode node) {
    if (node == null || !node.isArray()) {
      throw wrong("block_hashes", "has to be a list of block hashes", node);
    }
    if (node.size() > WireReader.MAX_KEYS) {
      throw new WireException(DecodeFault.TOO_LARGE, field("block_hashes") + "has " + node.size() + " elements");
    }
    long[] keys = new long[node.size()];
    for (int i = 0; i < keys.length; i++) {
      keys[i] = key(node.get(i), "block_hashes[" + i + "]");
    }
    return keys;
  }

  /** An integer's 64-bit pattern, or the last eight of the bytes that a string spells. */
  private long key(JsonNode node, String name) {
    if (node.isIntegralNumber() && node.bigIntegerValue().bitLength() <= Long.SIZE) {
      return node.bigIntegerValue().longValue();
    }
    if (node.isTextual()) {
      String digits = node.textValue();
      if (digits.startsWith("0x")) {
        digits = digits.substring(2);
      }
      int from = Math.max(0, digits.length() - 2 * Long.BYTES);
      if (!digits.isEmpty() && digits.chars().allMatch(HexFormat::isHexDigit)) {
        return Long.parseUnsignedLong(digits, from, digits.length(), 16);
      }
    }
    throw wrong(name, "has to be an integer of at most 64 bits or a string of hexadecimal digits", node);
  }

  /** Token ids; of nested lists (bigram caches) the first of each. */
  private int[] tokens(@Nullable JsonNode node) {
    if (node == null || !node.isArray()) {
      throw wrong("token_ids", "has to be a list of token ids", node);
    }
    if (node.size() > WireReader.MAX_TOKENS) {
      throw new WireException(DecodeFault.TOO_LARGE, field("token_ids") + "has " + node.size() + " elements");
    }
    int[] tokens = new int[node.size()];
    for (int i = 0; i < tokens.length; i++) {
      JsonNode token = node.get(i);
      if (token.isArray() && !token.isEmpty()) {
        token = token.get(0);
      }
      tokens[i] = token(token, "token_ids[" + i + "]");
    }
    return tokens;
  }

  private int token(JsonNode token, String name) {
    if (!token.isIntegralNumber()
        || !token.canConvertToLong()
        || token.longValue() < Integer.MIN_VALUE
        || token.longValue() > 0xffff_ffffL) {
      throw wrong(name, "has to be a token id of at most 32 bits", token);
    }
    return (int) token.longValue();
  }

  private Tier tier(JsonNode tree) {
    String locality = text(tree, "locality");
    if (locality != null && locality.equalsIgnoreCase("remote")) {
      return Tier.REMOTE;
    }
    String medium = text(tree, "medium");
    if (medium == null) {
      return Tier.DEVICE;
    }
    Tier tier = named(EventDraft.MEDIA, medium.toLowerCase(Locale.ROOT));
    if (tier == null) {
      faults.add(DecodeFault.UNKNOWN_MEDIUM, "unknown medium");
      return Tier.REMOTE;
    }
    return tier;
  }

  private int group(JsonNode tree) {
    JsonNode group = member(tree, "group_idx");
    if (group == null) {
      return KvEvent.UNSPECIFIED;
    }
    if (!group.isInt() || group.intValue() < 0) {
      throw wrong("group_idx", "has to be a whole number of at least 0", group);
    }
    return group.intValue();
  }

  /** The kind of attention; an unknown one counts as other, since a wrong prefix is worse than none. */
  private Spec spec(JsonNode tree) {
    String kind = text(tree, "kv_cache_spec_kind");
    if (kind == null) {
      return Spec.UNSPECIFIED;
    }
    Spec spec = named(EventDraft.SPECS, kind);
    return spec == null ? Spec.OTHER : spec.withWindow(window(tree));
  }

  private int window(JsonNode tree) {
    JsonNode window = member(tree, "kv_cache_spec_sliding_window");
    if (window == null) {
      return 0;
    }
    if (!window.isInt() || window.intValue() < 0) {
      throw wrong("kv_cache_spec_sliding_window", "has to be a whole number of at least 0", window);
    }
    return window.intValue();
  }

  private List<List<ExtraKey>> extraKeys(@Nullable JsonNode node) {
    if (node == null) {
      return List.of();
    }
    if (!node.isArray()) {
      throw wrong("extra_keys", "has to be a list with a list or null for each block", node);
    }
    boolean any = false;
    List<List<ExtraKey>> blocks = new ArrayList<>(node.size());
    for (JsonNode block : node) {
      List<ExtraKey> keys = new ArrayList<>();
      block.forEach(key -> keys.add(extraKey(key)));
      any |= !keys.isEmpty();
      blocks.add(List.copyOf(keys));
    }
    return any ? List.copyOf(blocks) : List.of();
  }

  private static ExtraKey extraKey(JsonNode key) {
    if (key.isTextual()) {
      return new ExtraKey.Name(key.textValue());
    }
    if (key.isArray() && key.size() == 2 && key.get(0).isTextual() && key.get(1).isIntegralNumber()) {
      return new ExtraKey.Item(key.get(0).textValue(), key.get(1).longValue());
    }
    return new ExtraKey.Digest(key.toString().getBytes(UTF_8));
  }

  private @Nullable String text(JsonNode tree, String name) {
    JsonNode node = member(tree, name);
    if (node == null) {
      return null;
    }
    if (!node.isTextual()) {
      throw wrong(name, "has to be a text", node);
    }
    return node.textValue().isEmpty() ? null : node.textValue();
  }

  private static <T> @Nullable T named(NameTable<T> names, String name) {
    byte[] bytes = name.getBytes(UTF_8);
    return bytes.length > NameTable.MAX ? null : names.find(bytes, bytes.length);
  }

  /** A member's value; null where there is none, or a null. */
  private static @Nullable JsonNode member(JsonNode tree, String name) {
    JsonNode node = tree.get(name);
    return node == null || node.isNull() ? null : node;
  }

  private String field(String name) {
    return (path.isEmpty() ? name : name.isEmpty() ? path : path + "." + name) + ": ";
  }

  private WireException wrong(String name, String right, @Nullable JsonNode is) {
    return new WireException(
        DecodeFault.MALFORMED, field(name) + right + (is == null ? "; it is missing" : ", not " + shown(is)));
  }

  /** A value as faults show it, shortened. */
  static String shown(JsonNode node) {
    String text = node.toString();
    return text.length() <= SHOWN ? text : text.substring(0, SHOWN) + "…";
  }
}
