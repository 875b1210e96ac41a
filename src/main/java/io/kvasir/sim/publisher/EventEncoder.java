package io.kvasir.sim.publisher;

import io.kvasir.sim.publisher.CacheEvent.Cleared;
import io.kvasir.sim.publisher.CacheEvent.Group;
import io.kvasir.sim.publisher.CacheEvent.Removed;
import io.kvasir.sim.publisher.CacheEvent.RemovedFromGroup;
import io.kvasir.sim.publisher.CacheEvent.Stored;
import io.kvasir.sim.publisher.CacheEvent.StoredInGroup;
import io.kvasir.sim.publisher.EventFormat.Encoding;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.msgpack.core.MessageBufferPacker;
import org.msgpack.core.MessagePack;

/**
 * Writes one step's events as one MessagePack batch {@code [seconds, [event …], rank]}, byte for byte as
 * msgspec writes vLLM's, SGLang's and TensorRT-LLM's {@code KVEventBatch}. Thread-safe.
 */
public final class EventEncoder {
  private final EventFormat format;

  /** An encoder of {@code format}. */
  public EventEncoder(EventFormat format) {
    this.format = format;
  }

  /**
   * The batch's bytes.
   *
   * @param seconds Unix time of the step
   * @param rank data-parallel rank, or null where an engine omits it
   */
  public byte[] encode(double seconds, List<CacheEvent> events, @Nullable Integer rank) {
    List<CacheEvent> written = format.encoding() == Encoding.SGLANG ? merged(events) : events;
    try (MessageBufferPacker out = MessagePack.newDefaultBufferPacker()) {
      out.packArrayHeader(3);
      out.packDouble(seconds);
      out.packArrayHeader(written.size());
      for (CacheEvent event : written) {
        switch (format.encoding()) {
          case VLLM_MAP -> packMap(out, event);
          case VLLM_ARRAY -> packArray(out, event);
          case TENSORRT_LLM -> packTensorRt(out, event);
          case SGLANG -> packSglang(out, event);
        }
      }
      if (rank == null) {
        out.packNil();
      } else {
        out.packInt(rank);
      }
      return out.toByteArray();
    } catch (IOException e) {
      throw new UncheckedIOException("A batch in memory cannot fail to be written", e);
    }
  }

  private void packMap(MessageBufferPacker out, CacheEvent event) throws IOException {
    switch (event) {
      case Stored stored -> packStoredMap(out, Group.PREFIX, stored);
      case StoredInGroup(Group group, Stored blocks) -> packStoredMap(out, group, blocks);
      case Removed(long[] keys, String medium) -> packRemovedMap(out, Group.PREFIX.index(), keys, medium);
      case RemovedFromGroup(int group, long[] keys, String medium) -> packRemovedMap(out, group, keys, medium);
      case Cleared() -> packClearedMap(out);
    }
  }

  private void packStoredMap(MessageBufferPacker out, Group group, Stored stored) throws IOException {
    boolean anyKeys = stored.keys().length > 0;
    boolean lookahead = stored.next().length > 0;
    out.packMapHeader(10 + (anyKeys ? 1 : 0) + (group.window() == null ? 0 : 1) + (lookahead ? 1 : 0));
    packBlocks(out, stored);
    out.packString("lora_id");
    packLoraId(out, stored.lora());
    out.packString("medium").packString(stored.medium());
    out.packString("lora_name");
    packText(out, stored.lora());
    if (anyKeys) {
      out.packString("extra_keys");
      packExtraKeys(out, stored);
    }
    out.packString("group_idx").packInt(group.index());
    out.packString("kv_cache_spec_kind").packString(group.kind());
    if (group.window() != null) {
      out.packString("kv_cache_spec_sliding_window").packInt(group.window());
    }
    if (lookahead) {
      out.packString("lookahead_token_ids").packArrayHeader(stored.next().length);
      for (int token : stored.next()) {
        packTokens(out, new int[] {token});
      }
    }
  }

  private void packRemovedMap(MessageBufferPacker out, int group, long[] keys, String medium) throws IOException {
    out.packMapHeader(4);
    packRemoval(out, keys, medium);
    out.packString("group_idx").packInt(group);
  }

  /** The fields that all engines' maps of a store begin with: five. */
  private void packBlocks(MessageBufferPacker out, Stored stored) throws IOException {
    out.packString("type").packString("BlockStored");
    out.packString("block_hashes");
    packKeys(out, stored.keys());
    out.packString("parent_block_hash");
    packParent(out, stored.parent());
    out.packString("token_ids");
    if (format.encoding() == Encoding.SGLANG && stored.next().length > 0) {
      packPairs(out, stored);
    } else {
      packTokens(out, stored.tokens());
    }
    out.packString("block_size").packInt(stored.blockSize());
  }

  /** The fields that all engines' maps of a removal begin with: three. */
  private void packRemoval(MessageBufferPacker out, long[] keys, String medium) throws IOException {
    out.packString("type").packString("BlockRemoved");
    out.packString("block_hashes");
    packKeys(out, keys);
    out.packString("medium").packString(medium);
  }

  private static void packClearedMap(MessageBufferPacker out) throws IOException {
    out.packMapHeader(1);
    out.packString("type").packString("AllBlocksCleared");
  }

  private void packArray(MessageBufferPacker out, CacheEvent event) throws IOException {
    switch (event) {
      case Stored stored -> packStoredArray(out, Group.PREFIX, stored);
      case StoredInGroup(Group group, Stored blocks) -> packStoredArray(out, group, blocks);
      case Removed(long[] keys, String medium) -> packRemovedArray(out, Group.PREFIX.index(), keys, medium);
      case RemovedFromGroup(int group, long[] keys, String medium) -> packRemovedArray(out, group, keys, medium);
      case Cleared() -> {
        out.packArrayHeader(1);
        out.packString("AllBlocksCleared");
      }
    }
  }

  private void packStoredArray(MessageBufferPacker out, Group group, Stored stored) throws IOException {
    out.packArrayHeader(12);
    out.packString("BlockStored");
    packKeys(out, stored.keys());
    packParent(out, stored.parent());
    packTokens(out, stored.tokens());
    out.packInt(stored.blockSize());
    packLoraId(out, stored.lora());
    out.packString(stored.medium());
    packText(out, stored.lora());
    packExtraKeys(out, stored);
    out.packInt(group.index());
    out.packString(group.kind());
    if (group.window() == null) {
      out.packNil();
    } else {
      out.packInt(group.window());
    }
  }

  private void packRemovedArray(MessageBufferPacker out, int group, long[] keys, String medium) throws IOException {
    out.packArrayHeader(4);
    out.packString("BlockRemoved");
    packKeys(out, keys);
    out.packString(medium);
    out.packInt(group);
  }

  private void packTensorRt(MessageBufferPacker out, CacheEvent event) throws IOException {
    switch (event) {
      case Stored stored -> {
        out.packMapHeader(8);
        packBlocks(out, stored);
        out.packString("lora_id").packNil();
        out.packString("medium").packString(stored.medium());
        out.packString("lora_name").packNil();
      }
      case Removed removed -> {
        out.packMapHeader(3);
        packRemoval(out, removed.keys(), removed.medium());
      }
      case StoredInGroup _, RemovedFromGroup _ -> throw noGroups();
      case Cleared() -> packClearedMap(out);
    }
  }

  private void packSglang(MessageBufferPacker out, CacheEvent event) throws IOException {
    switch (event) {
      case Stored stored -> {
        out.packMapHeader(7 + (stored.salt() == null ? 0 : 1) + (stored.lora() == null ? 0 : 1));
        packBlocks(out, stored);
        out.packString("lora_id").packNil();
        out.packString("medium").packString(stored.medium());
        if (stored.salt() != null) {
          out.packString("cache_salt").packString(stored.salt());
        }
        if (stored.lora() != null) {
          out.packString("lora_name").packString(stored.lora());
        }
      }
      case Removed removed -> {
        out.packMapHeader(3);
        packRemoval(out, removed.keys(), removed.medium());
      }
      case StoredInGroup _, RemovedFromGroup _ -> throw noGroups();
      case Cleared() -> packClearedMap(out);
    }
  }

  private IllegalArgumentException noGroups() {
    return new IllegalArgumentException(format.encoding() + " has no events of groups beside the prefix's");
  }

  private void packKeys(MessageBufferPacker out, long[] keys) throws IOException {
    out.packArrayHeader(keys.length);
    for (long key : keys) {
      packKey(out, key);
    }
  }

  private void packKey(MessageBufferPacker out, long key) throws IOException {
    if (format.byteKeys()) {
      byte[] digest = digest(key);
      out.packBinaryHeader(digest.length);
      out.writePayload(digest);
    } else if (key >= 0 || format.encoding() == Encoding.SGLANG || format.encoding() == Encoding.TENSORRT_LLM) {
      out.packLong(key);
    } else {
      out.packBigInteger(new BigInteger(Long.toUnsignedString(key)));
    }
  }

  private void packParent(MessageBufferPacker out, @Nullable Long parent) throws IOException {
    if (parent != null) {
      packKey(out, parent);
    } else if (format.zeroParent()) {
      out.packInt(0);
    } else {
      out.packNil();
    }
  }

  private static void packTokens(MessageBufferPacker out, int[] tokens) throws IOException {
    out.packArrayHeader(tokens.length);
    for (int token : tokens) {
      out.packLong(Integer.toUnsignedLong(token));
    }
  }

  /** Each token with the one after it. */
  private static void packPairs(MessageBufferPacker out, Stored stored) throws IOException {
    int[] tokens = stored.tokens();
    out.packArrayHeader(tokens.length);
    for (int i = 0; i < tokens.length; i++) {
      boolean last = (i + 1) % stored.blockSize() == 0;
      packTokens(out, new int[] {tokens[i], last ? stored.next()[i / stored.blockSize()] : tokens[i + 1]});
    }
  }

  /** Engines number their adapters; a name's number only has to be its own. */
  private static void packLoraId(MessageBufferPacker out, @Nullable String lora) throws IOException {
    if (lora == null) {
      out.packNil();
    } else {
      out.packInt(1 + (lora.hashCode() & 0x7fff));
    }
  }

  private static void packText(MessageBufferPacker out, @Nullable String text) throws IOException {
    if (text == null) {
      out.packNil();
    } else {
      out.packString(text);
    }
  }

  /** Per block what beside its tokens went into its key: the LoRA everywhere, the salt in block 0. */
  private static void packExtraKeys(MessageBufferPacker out, Stored stored) throws IOException {
    if (stored.keys().length == 0) {
      out.packNil();
      return;
    }
    out.packArrayHeader(stored.keys().length);
    for (int i = 0; i < stored.keys().length; i++) {
      String salt = i == 0 && stored.parent() == null ? stored.salt() : null;
      int extras = (stored.lora() == null ? 0 : 1) + (salt == null ? 0 : 1);
      if (extras == 0) {
        out.packNil();
        continue;
      }
      out.packArrayHeader(extras);
      if (stored.lora() != null) {
        out.packString(stored.lora());
      }
      if (salt != null) {
        out.packString(salt);
      }
    }
  }

  /** 32 opaque bytes ending in the key itself, as an engine's number is the tail of its digest. */
  private static byte[] digest(long key) {
    try {
      byte[] number = ByteBuffer.allocate(Long.BYTES).putLong(key).array();
      byte[] digest = MessageDigest.getInstance("SHA-256").digest(number);
      System.arraycopy(number, 0, digest, digest.length - Long.BYTES, Long.BYTES);
      return digest;
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("Every Java platform has SHA-256", e);
    }
  }

  /** SGLang sends a run of stores that continue each other, and a run of removals, as one event. */
  private static List<CacheEvent> merged(List<CacheEvent> events) {
    List<CacheEvent> merged = new ArrayList<>();
    for (CacheEvent event : events) {
      CacheEvent last = merged.isEmpty() ? null : merged.getLast();
      if (event instanceof Stored next && last instanceof Stored run && continues(run, next)) {
        merged.set(merged.size() - 1, joined(run, next));
      } else if (event instanceof Removed next && last instanceof Removed run && run.medium().equals(next.medium())) {
        merged.set(merged.size() - 1, new Removed(concat(run.keys(), next.keys()), run.medium()));
      } else {
        merged.add(event);
      }
    }
    return merged;
  }

  private static boolean continues(Stored run, Stored next) {
    return next.parent() != null
        && next.parent() == run.keys()[run.keys().length - 1]
        && next.blockSize() == run.blockSize()
        && next.medium().equals(run.medium())
        && Objects.equals(next.lora(), run.lora())
        && Objects.equals(next.salt(), run.salt());
  }

  private static Stored joined(Stored run, Stored next) {
    return new Stored(
        run.parent(), concat(run.keys(), next.keys()), concat(run.tokens(), next.tokens()), run.blockSize(), run.lora(),
        run.salt(), run.medium(), concat(run.next(), next.next()));
  }

  private static int[] concat(int[] first, int[] second) {
    int[] both = Arrays.copyOf(first, first.length + second.length);
    System.arraycopy(second, 0, both, first.length, second.length);
    return both;
  }

  private static long[] concat(long[] first, long[] second) {
    long[] both = Arrays.copyOf(first, first.length + second.length);
    System.arraycopy(second, 0, both, first.length, second.length);
    return both;
  }
}
