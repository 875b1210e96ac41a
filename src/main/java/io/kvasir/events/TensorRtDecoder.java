package io.kvasir.events;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.index.Tier;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The decoder of the events of one rank of a TensorRT-LLM server, as its {@code KVCacheEventSerializer} writes them.
 *
 * <p>A model with several attention windows has events for each; only those of the largest make a prefix. A block that
 * moves between device and host is reported by its key alone ({@code updated}), so with a host cache configured stored
 * blocks are remembered: as many as the server has.
 *
 * <p>Events name neither adapters nor cache salts, though both are in the keys. So a prompt's first block counts only
 * if its key is that of its tokens alone ({@link TensorRtKeys}): without it, what follows is found by nobody. That is
 * not believed before one such key came; a server may make its keys in another way, and all of its blocks would be
 * lost. One thread at a time.
 */
final class TensorRtDecoder {
  private static final int MAX_UNPROVED = 4096;

  private final DecodedMessage.FaultCollector faults = new DecodedMessage.FaultCollector();
  private final Map<Long, Block> blocks =
      new LinkedHashMap<>() {
        private static final long serialVersionUID = 1;

        @Override
        protected boolean removeEldestEntry(Map.Entry<Long, Block> eldest) {
          return size() > capacity;
        }
      };
  /** Keys of first blocks that were passed on before any was proved to be that of its tokens; null from then on. */
  private @Nullable Set<Long> unproved = new LinkedHashSet<>();

  private long window;
  /** Blocks to remember: all of the server's when it has a host cache, else none. */
  private int capacity;

  private record Block(boolean root, long parent, int[] tokens, List<ExtraKey> extras, Tier tier) {
    /** Whether one event can store both. */
    boolean like(Block other) {
      return tokens.length == other.tokens.length && tier == other.tier;
    }
  }

  /**
   * Reads one event. Never throws.
   *
   * @param now when it was received, in microseconds since the epoch: events have no time of their own
   */
  DecodedMessage decode(JsonNode event, long now) {
    faults.clear();
    JsonNode number = event.path("event_id");
    long sequence = number.canConvertToLong() ? number.asLong(KvBatch.UNSEQUENCED) : KvBatch.UNSEQUENCED;
    int rank = event.path("attention_dp_rank").asInt(KvBatch.UNKNOWN_RANK);
    List<KvEvent> events = List.of();
    try {
      events = events(event);
    } catch (WireException e) {
      faults.add(e.fault(), "event " + sequence + ": " + e.getMessage());
    }
    return faults.of(new KvBatch(sequence, now, rank, events));
  }

  private List<KvEvent> events(JsonNode event) {
    JsonNode data = event.path("data");
    long windowSize = event.path("window_size").asLong(0);
    String type = data.path("type").asText("");
    if (type.equals("created")) {
      created(event.path("event_id").asLong(), data.path("num_blocks_per_cache_level"));
    }
    if (windowSize < window) {
      return List.of();
    }
    window = windowSize;
    return switch (type) {
      case "created" -> List.of();
      case "stored" -> stored(data);
      case "removed" -> removed(data.path("block_hashes"));
      case "updated" -> updated(data);
      default -> {
        faults.add(DecodeFault.UNKNOWN_EVENT, "unknown event");
        yield List.of();
      }
    };
  }

  private void created(long number, JsonNode levels) {
    if (number == 0) {
      // A server that has just started.
      blocks.clear();
      unproved = new LinkedHashSet<>();
      window = 0;
      capacity = 0;
    }
    int all = 0;
    for (JsonNode level : levels) {
      all += level.asInt();
    }
    if (levels.size() > 1 && levels.get(1).asInt() > 0) {
      capacity = Math.max(capacity, all);
    }
  }

  /**
   * One event for each run of blocks of one size and tier: the last block of a prompt may be short. None for a prompt
   * under an adapter or a salt.
   */
  private List<KvEvent> stored(JsonNode data) {
    JsonNode list = data.path("blocks");
    if (!list.isArray()) {
      throw new WireException(DecodeFault.MALFORMED, "data.blocks: has to be a list of blocks");
    }
    JsonNode parentNode = data.path("parent_hash");
    boolean root = parentNode.isNull() || parentNode.isMissingNode();
    long parent = root ? 0 : key(parentNode, "parent_hash");
    List<KvEvent> events = new ArrayList<>();
    if (root && !list.isEmpty() && !isPlain(list.get(0), events)) {
      return List.of();
    }
    long[] keys = new long[list.size()];
    List<Block> run = new ArrayList<>();
    for (int i = 0; i < list.size(); i++) {
      JsonNode node = list.get(i);
      long key = key(node.path("block_hash"), "blocks[" + i + "].block_hash");
      Block block = block(root, parent, node, i);
      if (!run.isEmpty() && !run.getFirst().like(block)) {
        events.add(stored(run, Arrays.copyOfRange(keys, i - run.size(), i)));
        run.clear();
      }
      keys[i] = key;
      run.add(block);
      if (capacity > 0) {
        blocks.put(key, block);
      }
      root = false;
      parent = key;
    }
    if (!run.isEmpty()) {
      events.add(stored(run, Arrays.copyOfRange(keys, keys.length - run.size(), keys.length)));
    }
    return List.copyOf(events);
  }

  /**
   * Whether a first block is of a prompt under neither adapter nor salt, as far as that can be known. Adds the removal
   * of those to {@code events} that were taken for such until now.
   */
  private boolean isPlain(JsonNode node, List<KvEvent> events) {
    Block block = block(true, 0, node, 0);
    if (!block.extras.isEmpty()) {
      // Media items are in the key, too.
      return true;
    }
    long key = key(node.path("block_hash"), "blocks[0].block_hash");
    boolean proved = TensorRtKeys.isOf(block.tokens, key);
    Set<Long> passed = unproved;
    if (passed == null) {
      return proved;
    }
    if (!proved) {
      if (passed.size() < MAX_UNPROVED) {
        passed.add(key);
      }
      return true;
    }
    if (!passed.isEmpty()) {
      blocks.keySet().removeAll(passed);
      long[] foreign = passed.stream().mapToLong(Long::longValue).toArray();
      for (Tier tier : List.of(Tier.DEVICE, Tier.HOST)) {
        events.add(new KvEvent.Removed(foreign, tier, KvEvent.UNSPECIFIED));
      }
    }
    unproved = null;
    return true;
  }

  private static Block block(boolean root, long parent, JsonNode node, int at) {
    JsonNode list = node.path("tokens");
    int[] tokens = new int[list.size()];
    ByteBuffer extras = ByteBuffer.allocate(list.size() * Long.BYTES);
    boolean any = false;
    for (int i = 0; i < tokens.length; i++) {
      JsonNode token = list.get(i);
      JsonNode id = token.isObject() ? token.path("token_id") : token;
      if (!id.canConvertToLong() || id.longValue() < Integer.MIN_VALUE || id.longValue() > 0xffff_ffffL) {
        throw new WireException(
            DecodeFault.MALFORMED, "blocks[%d].tokens[%d]: has to be a token of at most 32 bits".formatted(at, i));
      }
      tokens[i] = (int) id.longValue();
      long extra = token.path("token_extra_id").asLong(0);
      any |= extra != 0;
      extras.putLong(extra);
    }
    return new Block(
        root,
        parent,
        tokens,
        any ? List.of(new ExtraKey.Digest(extras.array())) : List.of(),
        tier(node.path("cache_level").asInt(0)));
  }

  private static KvEvent stored(List<Block> run, long[] keys) {
    Block first = run.getFirst();
    int size = first.tokens.length;
    int[] tokens = new int[size * run.size()];
    boolean extras = false;
    for (int i = 0; i < run.size(); i++) {
      System.arraycopy(run.get(i).tokens, 0, tokens, i * size, size);
      extras |= !run.get(i).extras.isEmpty();
    }
    return new KvEvent.Stored(
        first.root,
        first.parent,
        keys,
        tokens,
        size,
        first.tier,
        null,
        null,
        KvEvent.UNSPECIFIED,
        KvEvent.Spec.UNSPECIFIED,
        extras ? run.stream().map(Block::extras).toList() : List.of());
  }

  private List<KvEvent> removed(JsonNode list) {
    if (!list.isArray()) {
      throw new WireException(DecodeFault.MALFORMED, "data.block_hashes: has to be a list of block hashes");
    }
    long[] device = new long[list.size()];
    long[] host = new long[list.size()];
    int onDevice = 0;
    int onHost = 0;
    for (int i = 0; i < list.size(); i++) {
      long key = key(list.get(i), "block_hashes[" + i + "]");
      Block block = blocks.remove(key);
      if (block != null && block.tier == Tier.HOST) {
        host[onHost++] = key;
      } else {
        device[onDevice++] = key;
      }
    }
    List<KvEvent> events = new ArrayList<>(2);
    if (onDevice > 0) {
      events.add(new KvEvent.Removed(Arrays.copyOf(device, onDevice), Tier.DEVICE, KvEvent.UNSPECIFIED));
    }
    if (onHost > 0) {
      events.add(new KvEvent.Removed(Arrays.copyOf(host, onHost), Tier.HOST, KvEvent.UNSPECIFIED));
    }
    return List.copyOf(events);
  }

  private List<KvEvent> updated(JsonNode data) {
    JsonNode level = data.path("cache_level");
    if (!level.isObject() || level.path("new_value").asInt() == level.path("old_value").asInt()) {
      return List.of();
    }
    long key = key(data.path("block_hash"), "block_hash");
    Tier from = tier(level.path("old_value").asInt());
    Tier to = tier(level.path("new_value").asInt());
    KvEvent removed = new KvEvent.Removed(new long[] {key}, from, KvEvent.UNSPECIFIED);
    Block block = blocks.remove(key);
    if (block == null) {
      return List.of(removed);
    }
    Block moved = new Block(block.root, block.parent, block.tokens, block.extras, to);
    blocks.put(key, moved);
    // First stored, then removed, so that the block is held all the time.
    return List.of(stored(List.of(moved), new long[] {key}), removed);
  }

  private static Tier tier(int level) {
    return switch (level) {
      case 0 -> Tier.DEVICE;
      case 1 -> Tier.HOST;
      default -> Tier.REMOTE;
    };
  }

  private static long key(JsonNode node, String field) {
    if (node.isIntegralNumber() && node.bigIntegerValue().bitLength() <= Long.SIZE) {
      return node.bigIntegerValue().longValue();
    }
    if (node.isTextual() && node.textValue().matches("[0-9a-fA-F]+")) {
      String digits = node.textValue();
      return Long.parseUnsignedLong(digits, Math.max(0, digits.length() - 16), digits.length(), 16);
    }
    throw new WireException(
        DecodeFault.MALFORMED,
        field + ": has to be an integer of 64 bits or hexadecimal, not " + JsonEvent.shown(node));
  }
}
