package io.kvasir.cell.events;

import io.kvasir.events.ExtraKey;
import io.kvasir.events.KvEvent.Stored;
import io.kvasir.index.BlockHash;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Chain hashes of the blocks that an event stores: the namespace from its adapter and salt, and into a
 * block's own hash whatever the engine mixed into its.
 *
 * <p>A block under multimodal items (or prompt embeddings) is hashed with their 64-bit numbers, sorted, after its
 * tokens, so it never equals a block of text; the blocks that follow differ through their parent. One
 * thread at a time.
 */
final class EventHashing {
  private static final BlockHash BASE = BlockHash.in(null, null);
  private static final int NAMESPACES = 256;

  private final Map<HashNamespace, BlockHash> namespaces =
      new LinkedHashMap<>(16, 0.75f, true) {
        private static final long serialVersionUID = 1;

        @Override
        protected boolean removeEldestEntry(Map.Entry<HashNamespace, BlockHash> eldest) {
          return size() > NAMESPACES;
        }
      };

  private record HashNamespace(@Nullable String lora, @Nullable String salt) {}

  /**
   * Writes the hashes of the event's first {@code count} blocks.
   *
   * @param parent hash of the block before, {@link BlockHash#NONE} for a root
   * @param salt the chain's, null when it has none
   */
  void chain(Stored stored, int count, long parent, @Nullable String salt, long[] hashes) {
    BlockHash in = in(stored.lora(), salt);
    int size = stored.blockSize();
    if (stored.extraKeys().isEmpty()) {
      in.chain(parent, stored.tokens(), 0, count * size, size, hashes, 0);
      return;
    }
    long hash = parent;
    for (int i = 0; i < count; i++) {
      long[] items = items(stored, i);
      long local =
          items.length == 0
              ? in.local(stored.tokens(), i * size, size)
              : in.local(withItems(stored.tokens(), i * size, size, items), 0, size + 2 * items.length);
      hash = BlockHash.chained(hash, local);
      hashes[i] = hash;
    }
  }

  /**
   * The salt the event itself names: in a field of its own, or as the last bare string beside a prompt's
   * first block. Null when it names none; a later block may have its prompt's salt all the same.
   */
  static @Nullable String salt(Stored stored) {
    if (stored.cacheSalt() != null) {
      return stored.cacheSalt().isEmpty() ? null : stored.cacheSalt();
    }
    int at = hiddenSalt(stored);
    return at < 0 ? null : ((ExtraKey.Name) stored.extraKeys().getFirst().get(at)).text();
  }

  /** Position of the salt among the first block's extra keys, -1 when there is none. */
  private static int hiddenSalt(Stored stored) {
    if (!stored.root() || stored.cacheSalt() != null || stored.extraKeys().isEmpty()) {
      return -1;
    }
    List<ExtraKey> keys = stored.extraKeys().getFirst();
    int adapter = adapter(stored, keys);
    for (int i = keys.size() - 1; i >= 0; i--) {
      if (i != adapter && keys.get(i) instanceof ExtraKey.Name) {
        return i;
      }
    }
    return -1;
  }

  /** Position of the adapter's name, which engines put first; -1 when it is not there. */
  private static int adapter(Stored stored, List<ExtraKey> keys) {
    return stored.lora() != null && !keys.isEmpty() && keys.getFirst().equals(new ExtraKey.Name(stored.lora()))
        ? 0
        : -1;
  }

  /** The same event, with a salt that is hidden among its extra keys in the field for it. */
  static Stored withSaltNamed(Stored stored) {
    int at = hiddenSalt(stored);
    if (at < 0) {
      return stored;
    }
    List<List<ExtraKey>> extraKeys = new ArrayList<>(stored.extraKeys());
    List<ExtraKey> first = new ArrayList<>(extraKeys.getFirst());
    String salt = ((ExtraKey.Name) first.remove(at)).text();
    extraKeys.set(0, first);
    return new Stored(
        stored.root(), stored.parentKey(), stored.keys(), stored.tokens(), stored.blockSize(), stored.tier(),
        stored.lora(), salt, stored.group(), stored.spec(), extraKeys, stored.onceComputed(), stored.lookahead());
  }

  private static long[] items(Stored stored, int block) {
    List<ExtraKey> keys = block < stored.extraKeys().size() ? stored.extraKeys().get(block) : List.of();
    if (keys.isEmpty()) {
      return new long[0];
    }
    int adapter = adapter(stored, keys);
    int salt = block == 0 ? hiddenSalt(stored) : -1;
    long[] items = new long[keys.size()];
    int count = 0;
    for (int i = 0; i < keys.size(); i++) {
      if (i != adapter && i != salt) {
        // Unsigned order, by flipping the sign for the sort below.
        items[count++] = number(keys.get(i)) ^ Long.MIN_VALUE;
      }
    }
    Arrays.sort(items, 0, count);
    for (int i = 0; i < count; i++) {
      items[i] ^= Long.MIN_VALUE;
    }
    return Arrays.copyOf(items, count);
  }

  private static long number(ExtraKey key) {
    return switch (key) {
      case ExtraKey.Name(String id) -> number(id);
      case ExtraKey.Item(String id, long _) -> number(id);
      case ExtraKey.Digest(byte[] bytes) -> {
        int[] values = new int[bytes.length];
        for (int i = 0; i < bytes.length; i++) {
          values[i] = bytes[i];
        }
        yield BASE.local(values, 0, values.length);
      }
    };
  }

  /** Items are named by hexadecimal digests, of which 64 bits are plenty; other names are hashed. */
  private static long number(String id) {
    if (id.length() >= 16) {
      try {
        return Long.parseUnsignedLong(id, 0, 16, 16);
      } catch (NumberFormatException e) {
        // not a digest: hashed below
      }
    }
    int[] chars = id.chars().toArray();
    return BASE.local(chars, 0, chars.length);
  }

  /** A block's tokens with each item's number behind them, low half first: as if hashed little-endian. */
  private static int[] withItems(int[] tokens, int from, int size, long[] items) {
    int[] mixed = Arrays.copyOfRange(tokens, from, from + size + 2 * items.length);
    for (int i = 0; i < items.length; i++) {
      mixed[size + 2 * i] = (int) items[i];
      mixed[size + 2 * i + 1] = (int) (items[i] >>> Integer.SIZE);
    }
    return mixed;
  }

  private BlockHash in(@Nullable String lora, @Nullable String salt) {
    return lora == null && salt == null
        ? BASE
        : namespaces.computeIfAbsent(new HashNamespace(lora, salt), n -> BlockHash.in(n.lora(), n.salt()));
  }
}
