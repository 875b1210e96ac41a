package io.kvasir.cell.events;

import io.kvasir.events.ExtraKey;
import io.kvasir.events.KvEvent;
import io.kvasir.events.KvEvent.Removed;
import io.kvasir.events.KvEvent.Spec;
import io.kvasir.events.KvEvent.Stored;
import io.kvasir.index.BlockHash;
import io.kvasir.index.Tier;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/**
 * An engine's prefix cache as it is, and the events it would publish: blocks computed, shared, copied, moved to the
 * host and dropped there and here in any order, under adapters, salts and images, in a hybrid model's groups, with
 * blocks that are not full yet. Kept as plainly as possible: it is what the index is held against.
 */
final class GoldenEngine {
  static final int BLOCK = 4;

  /**
   * What kind of engine.
   *
   * @param copies whether equal blocks may be there more than once, each copy stored and removed on its own
   * @param placeholders whether the host tier's stores are empty shells, which say no more than the blocks' keys
   * @param hybrid whether the same blocks appear in a second group that makes no prefix
   * @param saltField whether a salt stands in a field of its own (SGLang), or among the first block's keys (vLLM)
   */
  record Kind(boolean copies, boolean placeholders, boolean hybrid, boolean saltField) {}

  /**
   * A prompt.
   *
   * @param tokens whole blocks of them
   * @param imageAt the block an image stands in, -1 for none
   */
  record Prompt(int[] tokens, @Nullable String lora, @Nullable String salt, int imageAt) {
    int blocks() {
      return tokens.length / BLOCK;
    }

    /** Chain hashes as the router makes them, up to an image. */
    long[] chain() {
      int count = imageAt < 0 ? blocks() : imageAt;
      long[] hashes = new long[count];
      BlockHash.in(lora, salt).chain(BlockHash.NONE, tokens, 0, count * BLOCK, BLOCK, hashes, 0);
      return hashes;
    }
  }

  /** A block by what it contains. */
  private record Content(List<Integer> tokens, @Nullable String lora, @Nullable String salt, boolean image) {}

  private final SplittableRandom random;
  private final Kind kind;
  private final List<Prompt> prompts = new ArrayList<>();
  private final Map<Content, Long> keys = new HashMap<>();

  /** By key: copies on the device and on the host; those the events tell of. */
  private final Map<Long, EnumMap<Tier, Integer>> held = new HashMap<>();

  private final Set<Long> secondGroup = new HashSet<>();
  private long nextKey;

  GoldenEngine(SplittableRandom random, Kind kind) {
    this.random = random;
    this.kind = kind;
    this.nextKey = random.nextLong();
    for (int i = 0; i < 25; i++) {
      prompts.add(prompt());
    }
  }

  private Prompt prompt() {
    Prompt base = prompts.isEmpty() || random.nextInt(4) == 0 ? null : prompts.get(random.nextInt(prompts.size()));
    int shared = base == null ? 0 : random.nextInt(base.blocks() + 1);
    int[] tokens = new int[(shared + 1 + random.nextInt(12)) * BLOCK];
    for (int i = 0; i < tokens.length; i++) {
      tokens[i] = base != null && i < shared * BLOCK ? base.tokens[i] : random.nextInt();
    }
    boolean image = random.nextInt(5) == 0;
    return new Prompt(
        tokens,
        random.nextInt(4) == 0 ? "lora-" + random.nextInt(2) : null,
        random.nextInt(4) == 0 ? "tenant-" + random.nextInt(2) : null,
        image ? random.nextInt(tokens.length / BLOCK) : -1);
  }

  List<Prompt> prompts() {
    return prompts;
  }

  /** Keys of everything the events tell of. */
  Set<Long> heldKeys() {
    return held.keySet();
  }

  /** How many leading blocks of a prompt, up to an image, are there. */
  int depth(Prompt prompt) {
    int depth = 0;
    int most = prompt.imageAt < 0 ? prompt.blocks() : prompt.imageAt;
    while (depth < most && held.containsKey(key(prompt, depth))) {
      depth++;
    }
    return depth;
  }

  /** A process of its own: nothing is held, and every block has another key. */
  void restart() {
    held.clear();
    keys.clear();
    secondGroup.clear();
    nextKey = random.nextLong();
  }

  /** All it holds, as the events of a snapshot: predecessors that are gone are stored for their blocks, and removed. */
  List<KvEvent> snapshot() {
    List<KvEvent> events = new ArrayList<>();
    events.add(new KvEvent.Cleared());
    Set<Long> told = new HashSet<>();
    List<Long> gone = new ArrayList<>();
    for (Prompt prompt : prompts) {
      int last = prompt.blocks() - 1;
      while (last >= 0 && !held.containsKey(key(prompt, last))) {
        last--;
      }
      for (int i = 0; i <= last; i++) {
        long key = key(prompt, i);
        if (!told.add(key)) {
          continue;
        }
        if (!held.containsKey(key)) {
          events.add(stored(prompt, i, i + 1, Tier.DEVICE, 0));
          gone.add(key);
        }
        for (Map.Entry<Tier, Integer> copies : held.getOrDefault(key, new EnumMap<>(Tier.class)).entrySet()) {
          for (int copy = copies.getValue(); copy > 0; copy--) {
            events.add(stored(prompt, i, i + 1, copies.getKey(), 0));
          }
        }
        if (secondGroup.contains(key)) {
          events.add(stored(prompt, i, i + 1, Tier.DEVICE, 1));
        }
      }
    }
    if (!gone.isEmpty()) {
      events.add(
          new Removed(
              gone.stream().mapToLong(Long::longValue).toArray(), Tier.DEVICE, kind.hybrid ? 0 : KvEvent.UNSPECIFIED));
    }
    return events;
  }

  /** One step of the scheduler: what happened in it. */
  List<KvEvent> step() {
    List<KvEvent> events = new ArrayList<>();
    for (int things = random.nextInt(4); things >= 0; things--) {
      switch (random.nextInt(30)) {
        case 0 -> clear(events);
        case 1, 2, 3 -> offload(events);
        case 4, 5 -> drop(events, Tier.HOST);
        case 6 -> partial(events);
        case 7, 8, 9, 10, 11, 12, 13, 14, 15 -> drop(events, Tier.DEVICE);
        default -> compute(prompts.get(random.nextInt(prompts.size())), events);
      }
    }
    return events;
  }

  /** Computes what is missing of a prompt, and sometimes what is not, in runs of blocks. */
  private void compute(Prompt prompt, List<KvEvent> events) {
    int end = 1 + random.nextInt(prompt.blocks());
    int from = 0;
    while (from < end) {
      if (onDevice(prompt, from) && !(kind.copies && random.nextInt(8) == 0)) {
        from++;
        continue;
      }
      int to = from + 1;
      while (to < end && !onDevice(prompt, to) && random.nextInt(6) != 0) {
        to++;
      }
      store(prompt, from, to, Tier.DEVICE, events);
      if (kind.hybrid) {
        for (int i = from; i < to; i++) {
          secondGroup.add(key(prompt, i));
        }
        events.add(stored(prompt, from, to, Tier.DEVICE, 1));
      }
      from = to;
    }
  }

  private boolean onDevice(Prompt prompt, int block) {
    return held.getOrDefault(key(prompt, block), new EnumMap<>(Tier.class)).containsKey(Tier.DEVICE);
  }

  private void store(Prompt prompt, int from, int to, Tier tier, List<KvEvent> events) {
    for (int i = from; i < to; i++) {
      held.computeIfAbsent(key(prompt, i), _ -> new EnumMap<>(Tier.class)).merge(tier, 1, Integer::sum);
    }
    events.add(stored(prompt, from, to, tier, 0));
  }

  private Stored stored(Prompt prompt, int from, int to, Tier tier, int group) {
    long[] names = new long[to - from];
    int[] tokens = new int[(to - from) * BLOCK];
    List<List<ExtraKey>> extra = new ArrayList<>();
    boolean any = false;
    for (int i = from; i < to; i++) {
      names[i - from] = key(prompt, i);
      System.arraycopy(prompt.tokens, i * BLOCK, tokens, (i - from) * BLOCK, BLOCK);
      List<ExtraKey> of = new ArrayList<>();
      if (prompt.lora != null) {
        of.add(new ExtraKey.Name(prompt.lora));
      }
      if (i == prompt.imageAt) {
        of.add(new ExtraKey.Item("8d4f1c2e9b3a5d6f", 1));
      }
      if (i == 0 && prompt.salt != null && !kind.saltField) {
        of.add(new ExtraKey.Name(prompt.salt));
      }
      any |= !of.isEmpty();
      extra.add(of);
    }
    boolean root = from == 0;
    return new Stored(
        root,
        root ? 0 : key(prompt, from - 1),
        names,
        tokens,
        BLOCK,
        tier,
        prompt.lora,
        kind.saltField ? prompt.salt : null,
        kind.hybrid ? group : KvEvent.UNSPECIFIED,
        !kind.hybrid ? Spec.UNSPECIFIED : group == 0 ? Spec.FULL : Spec.OTHER,
        any ? extra : List.of());
  }

  /** Copies a block whose predecessor is known to the host; the engine may only say that it did something. */
  private void offload(List<KvEvent> events) {
    Prompt prompt = prompts.get(random.nextInt(prompts.size()));
    int from = random.nextInt(prompt.blocks());
    if (!onDevice(prompt, from) || (from > 0 && !held.containsKey(key(prompt, from - 1)))) {
      return;
    }
    if (kind.placeholders) {
      held.computeIfAbsent(key(prompt, from), _ -> new EnumMap<>(Tier.class)).merge(Tier.HOST, 1, Integer::sum);
      events.add(
          new Stored(
              true, 0, new long[] {key(prompt, from)}, new int[0], 0, Tier.HOST, null, null,
              kind.hybrid ? 0 : KvEvent.UNSPECIFIED, Spec.UNSPECIFIED, List.of()));
    } else if (!held.getOrDefault(key(prompt, from), new EnumMap<>(Tier.class)).containsKey(Tier.HOST)) {
      store(prompt, from, from + 1, Tier.HOST, events);
    }
  }

  /** Drops a copy of some blocks, in whatever order. */
  private void drop(List<KvEvent> events, Tier tier) {
    List<Long> there = held.keySet().stream().filter(key -> copies(key).containsKey(tier)).sorted().toList();
    if (there.isEmpty()) {
      return;
    }
    Set<Long> dropped = new HashSet<>();
    for (int i = random.nextInt(Math.min(8, there.size())); i >= 0; i--) {
      dropped.add(there.get(random.nextInt(there.size())));
    }
    for (long key : dropped) {
      EnumMap<Tier, Integer> copies = copies(key);
      copies.merge(tier, -1, Integer::sum);
      if (copies.getOrDefault(tier, 0) == 0) {
        copies.remove(tier);
      }
      if (copies.isEmpty()) {
        held.remove(key);
      }
    }
    long[] names = dropped.stream().mapToLong(Long::longValue).toArray();
    events.add(new Removed(names, tier, kind.hybrid ? 0 : KvEvent.UNSPECIFIED));
    // The other group lets go of what it likes, when it likes.
    if (kind.hybrid && !secondGroup.isEmpty() && random.nextBoolean()) {
      long key = secondGroup.iterator().next();
      secondGroup.remove(key);
      events.add(new Removed(new long[] {key}, Tier.DEVICE, 1));
    }
  }

  private EnumMap<Tier, Integer> copies(long key) {
    return Objects.requireNonNull(held.get(key));
  }

  /** A block that fills: stored while it is short, gone when it is full. */
  private void partial(List<KvEvent> events) {
    long key = random.nextLong();
    events.add(
        new Stored(
            true, 0, new long[] {key}, new int[] {1, 2}, 2, Tier.DEVICE, null, null,
            kind.hybrid ? 0 : KvEvent.UNSPECIFIED, Spec.UNSPECIFIED, List.of()));
    events.add(new Removed(new long[] {key}, Tier.DEVICE, kind.hybrid ? 0 : KvEvent.UNSPECIFIED));
  }

  private void clear(List<KvEvent> events) {
    if (random.nextInt(3) == 0) {
      held.clear();
      secondGroup.clear();
      events.add(new KvEvent.Cleared());
    }
  }

  private long key(Prompt prompt, int block) {
    List<Integer> tokens = new ArrayList<>();
    for (int i = 0; i < (block + 1) * BLOCK; i++) {
      tokens.add(prompt.tokens[i]);
    }
    boolean image = prompt.imageAt >= 0 && block >= prompt.imageAt;
    Content content = new Content(image ? marked(tokens, prompt.imageAt) : tokens, prompt.lora, prompt.salt, image);
    return keys.computeIfAbsent(content, _ -> nextKey += 0x9E3779B97F4A7C15L);
  }

  /** Where the image stands makes a difference too. */
  private static List<Integer> marked(List<Integer> tokens, int at) {
    List<Integer> marked = new ArrayList<>(tokens);
    marked.add(at);
    return marked;
  }
}
