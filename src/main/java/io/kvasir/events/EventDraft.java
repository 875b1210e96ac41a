package io.kvasir.events;

import io.kvasir.events.KvEvent.Spec;
import io.kvasir.index.Tier;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.msgpack.value.ValueType;

/**
 * The fields of the event that is being decoded, in any order. Array and map encodings fill the same draft; {@link
 * #event} checks it as a whole. One thread at a time.
 */
final class EventDraft {
  private static final int MAX_BLOCK_SIZE = 1 << 20;
  static final NameTable<Kind> KINDS =
      new NameTable<>(
          Map.of("BlockStored", Kind.STORED, "BlockRemoved", Kind.REMOVED, "AllBlocksCleared", Kind.CLEARED));
  static final NameTable<Tier> MEDIA =
      new NameTable<>(
          Map.of(
              "gpu", Tier.DEVICE,
              "cpu", Tier.HOST,
              "cpu_pinned", Tier.HOST,
              "disk", Tier.DISK,
              "fs", Tier.DISK,
              "storage", Tier.DISK,
              "obj", Tier.REMOTE,
              "external", Tier.REMOTE));
  static final NameTable<Spec> SPECS =
      new NameTable<>(
          Map.of(
              "full_attention", Spec.FULL,
              "mla_attention", Spec.FULL,
              "sink_full_attention", Spec.FULL,
              "sliding_window", Spec.SLIDING_WINDOW,
              "sliding_window_mla", Spec.SLIDING_WINDOW,
              "mamba", Spec.STATE,
              "chunked_local_attention", Spec.OTHER,
              "encoder_only_attention", Spec.OTHER,
              "cross_attention", Spec.OTHER,
              "unknown", Spec.UNSPECIFIED));
  private static final NameTable<Boolean> LOCALITIES = new NameTable<>(Map.of("remote", true, "local", false));
  private static final NameTable<Boolean> METADATA = new NameTable<>(Map.of("cache_salt", true));

  /** Fields of vLLM's maps: each store has one at least. SGLang's have of these the name of an adapter only. */
  private static final Set<Field> OF_VLLM = EnumSet.of(Field.LORA_NAME, Field.EXTRA_KEYS, Field.GROUP, Field.SPEC);

  private final WireReader reader;
  private final DecodedMessage.FaultCollector faults;

  private Kind kind = Kind.UNSET;
  private long @Nullable [] keys;
  private boolean parentSeen;
  private long parent;
  private int @Nullable [] tokens;
  private int blockSize;
  private @Nullable String lora;
  private @Nullable String loraId;
  private @Nullable String cacheSalt;
  private Tier tier = Tier.DEVICE;
  private boolean remote;
  private int group;
  private Spec spec = Spec.UNSPECIFIED;
  private int window;
  private List<List<ExtraKey>> extraKeys = List.of();
  private boolean onceComputed;
  private int @Nullable [] seconds;
  private int @Nullable [] tokensAfter;
  private int leastAfter;

  EventDraft(WireReader reader, DecodedMessage.FaultCollector faults) {
    this.reader = reader;
    this.faults = faults;
  }

  void clear() {
    kind = Kind.UNSET;
    keys = null;
    parentSeen = false;
    parent = 0;
    tokens = null;
    blockSize = -1;
    lora = null;
    loraId = null;
    cacheSalt = null;
    tier = Tier.DEVICE;
    remote = false;
    group = KvEvent.UNSPECIFIED;
    spec = Spec.UNSPECIFIED;
    window = 0;
    extraKeys = List.of();
    onceComputed = false;
    seconds = null;
    tokensAfter = null;
  }

  /** The event is a map: SGLang's, unless it has a field {@linkplain #OF_VLLM of vLLM's}. */
  void beginMap() {
    onceComputed = true;
  }

  /** Reads the value of a field that both encodings know. */
  void read(Field field) throws IOException {
    onceComputed &= !OF_VLLM.contains(field);
    switch (field) {
      case TYPE -> {
        Kind named = reader.named(KINDS);
        kind = named == null ? Kind.UNKNOWN : named;
      }
      case KEYS -> keys = reader.keys();
      case PARENT -> {
        parentSeen = true;
        parent = reader.nil() ? 0 : reader.key();
      }
      case TOKENS -> {
        tokens = reader.tokens();
        seconds = reader.seconds();
      }
      case BLOCK_SIZE -> blockSize = reader.count(MAX_BLOCK_SIZE, "block size");
      case LORA_ID -> loraId = reader.nil() ? null : "lora id " + reader.integer();
      case MEDIUM -> tier = medium();
      case LORA_NAME -> loraNameOrMetadata();
      case EXTRA_KEYS -> extraKeys = extraKeys();
      case GROUP -> group = reader.nil() ? KvEvent.UNSPECIFIED : reader.count(Integer.MAX_VALUE, "group");
      case SPEC -> spec = spec();
      case LOCALITY -> remote = locality();
      case CACHE_SALT -> cacheSalt = reader.nil() ? null : reader.text();
      // Which session stored them first says nothing of who may share them.
      case SESSION -> reader.skip();
      case LOOKAHEAD -> tokensAfter = tokensAfter();
      case WINDOW -> window = reader.nil() ? 0 : reader.count(Integer.MAX_VALUE, "sliding window");
    }
  }

  Kind kind() {
    return kind;
  }

  /** The event that the fields make; null for one of an unknown kind. */
  @Nullable KvEvent event() {
    return switch (kind) {
      case STORED -> stored();
      case REMOVED -> removed();
      case CLEARED -> new KvEvent.Cleared();
      case UNKNOWN -> {
        faults.add(DecodeFault.UNKNOWN_EVENT, "unknown event");
        yield null;
      }
      case UNSET -> throw new WireException(DecodeFault.MALFORMED, "an event without a type");
    };
  }

  private KvEvent stored() {
    if (keys == null || tokens == null || blockSize < 0 || !parentSeen) {
      throw new WireException(DecodeFault.MALFORMED, "BlockStored lacks hashes, parent, tokens or block size");
    }
    String adapter = lora != null && !lora.isEmpty() ? lora : loraId;
    return new KvEvent.Stored(
        parent == 0, parent, keys, tokens, blockSize, tier(), adapter, cacheSalt, group,
        spec.withWindow(window), extraKeys, onceComputed, lookahead());
  }

  private KvEvent.Lookahead lookahead() {
    if (tokensAfter != null && keys != null && tokensAfter.length == keys.length) {
      return new KvEvent.Lookahead(tokensAfter, leastAfter);
    }
    return seconds == null || keys == null ? KvEvent.Lookahead.ANY : ofPairs(seconds, keys.length, blockSize);
  }

  /**
   * What the pairs of a bigram cache tell: the second token of the last pair of each block. A prompt's last token is
   * never looked up there, so it makes no pair.
   */
  static KvEvent.Lookahead ofPairs(int[] seconds, int blocks, int blockSize) {
    if (blockSize == 0 || (long) blocks * blockSize != seconds.length) {
      return KvEvent.Lookahead.ANY;
    }
    int[] tokens = new int[blocks];
    for (int i = 0; i < blocks; i++) {
      tokens[i] = seconds[(i + 1) * blockSize - 1];
    }
    return new KvEvent.Lookahead(tokens, 2);
  }

  /** The first token after each block, and how many there are after all; null where not all have one. */
  private int @Nullable [] tokensAfter() throws IOException {
    if (reader.nil()) {
      return null;
    }
    int[] first = new int[reader.array(WireReader.MAX_KEYS)];
    // An event without blocks, of what was left out, tells that there are tokens and not how many.
    leastAfter = first.length == 0 ? 1 : Integer.MAX_VALUE;
    for (int i = 0; i < first.length; i++) {
      int[] after = reader.tokens();
      leastAfter = Math.min(leastAfter, after.length);
      first[i] = after.length > 0 ? after[0] : 0;
    }
    return leastAfter > 0 ? first : null;
  }

  private KvEvent removed() {
    if (keys == null) {
      throw new WireException(DecodeFault.MALFORMED, "BlockRemoved lacks hashes");
    }
    return new KvEvent.Removed(keys, tier(), group);
  }

  private Tier tier() {
    return remote ? Tier.REMOTE : tier;
  }

  private Tier medium() throws IOException {
    if (reader.nil()) {
      return Tier.DEVICE;
    }
    Tier named = reader.namedAnyCase(MEDIA);
    if (named == null) {
      faults.add(DecodeFault.UNKNOWN_MEDIUM, "unknown medium");
      return Tier.REMOTE;
    }
    return named;
  }

  private Spec spec() throws IOException {
    Spec named = reader.nil() ? Spec.UNSPECIFIED : reader.named(SPECS);
    // An unknown kind counts as other: a wrong prefix is worse than none.
    return named == null ? Spec.OTHER : named;
  }

  private boolean locality() throws IOException {
    return !reader.nil() && Boolean.TRUE.equals(reader.namedAnyCase(LOCALITIES));
  }

  /** Position 7 of an array: vLLM's adapter name, or the map that SGLang appends to salted stores. */
  private void loraNameOrMetadata() throws IOException {
    if (reader.type() != ValueType.MAP) {
      lora = reader.nil() ? null : reader.text();
      return;
    }
    int entries = reader.map();
    for (int i = 0; i < entries; i++) {
      if (reader.named(METADATA) == null) {
        faults.add(DecodeFault.UNKNOWN_FIELD, "unknown metadata");
        reader.skip();
      } else {
        cacheSalt = reader.nil() ? null : reader.text();
      }
    }
  }

  private List<List<ExtraKey>> extraKeys() throws IOException {
    if (reader.nil()) {
      return List.of();
    }
    int blocks = reader.array(WireReader.MAX_KEYS);
    @Nullable List<ExtraKey>[] perBlock = null;
    for (int i = 0; i < blocks; i++) {
      if (!reader.nil()) {
        if (perBlock == null) {
          perBlock = newLists(blocks);
        }
        perBlock[i] = blockKeys();
      }
    }
    return perBlock == null ? List.of() : List.of(perBlock);
  }

  private List<ExtraKey> blockKeys() throws IOException {
    int count = reader.array(WireReader.MAX_KEYS);
    List<ExtraKey> read = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      read.add(
          switch (reader.type()) {
            case STRING -> new ExtraKey.Name(reader.text());
            case BINARY -> new ExtraKey.Digest(reader.bytes());
            case ARRAY -> item();
            default -> new ExtraKey.Digest(reader.raw());
          });
    }
    return List.copyOf(read);
  }

  private ExtraKey item() throws IOException {
    int start = reader.position();
    if (reader.array(WireReader.MAX_KEYS) == 2 && reader.type() == ValueType.STRING) {
      String id = reader.text();
      if (reader.type() == ValueType.INTEGER) {
        return new ExtraKey.Item(id, reader.integer());
      }
    }
    reader.seek(start);
    return new ExtraKey.Digest(reader.raw());
  }

  @SuppressWarnings({"unchecked", "rawtypes"}) // an array of lists, filled before it is returned
  private static List<ExtraKey>[] newLists(int blocks) {
    List<ExtraKey>[] lists = new List[blocks];
    Arrays.fill(lists, List.of());
    return lists;
  }

  /** The kind of an event; {@link #UNSET} until its type was read. */
  enum Kind {
    STORED,
    REMOVED,
    CLEARED,
    UNKNOWN,
    UNSET
  }

  /** The meaning of a field, in either encoding. */
  enum Field {
    TYPE,
    KEYS,
    PARENT,
    TOKENS,
    BLOCK_SIZE,
    LORA_ID,
    MEDIUM,
    LORA_NAME,
    EXTRA_KEYS,
    GROUP,
    SPEC,
    WINDOW,
    LOCALITY,
    CACHE_SALT,
    SESSION,
    LOOKAHEAD
  }
}
