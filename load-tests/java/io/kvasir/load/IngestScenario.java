package io.kvasir.load;

import io.kvasir.index.BlockHash;
import io.kvasir.sim.publisher.CacheEvent;
import io.kvasir.sim.publisher.EventEncoder;
import io.kvasir.sim.publisher.EventFormat;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;

/**
 * The events of one busy engine, a function of its number. Each batch is a step: {@link #RUNNING} sequences
 * fill a block each, a prompt of {@link #PROMPT} blocks comes in, and as many blocks are evicted as were stored, from
 * the ends of the oldest chains. Steps make a cycle that ends as it began, with nothing held, so it can go round.
 */
public final class IngestScenario {
  /** Events in a batch of a full cache. */
  public static final int EVENTS = 32;

  /** Tokens in a block. */
  public static final int BLOCK = 16;

  private static final int RUNNING = 15;
  private static final int PROMPT = 16;
  private static final int STORED = RUNNING + PROMPT;
  private static final int REMOVALS = EVENTS - RUNNING - 1;
  private static final int HELD = 6000;

  private final SplittableRandom random;
  private final List<List<CacheEvent>> steps = new ArrayList<>();
  private long nextKey;

  private record Block(long key, int[] tokens) {}

  /** A chain of an engine's blocks, from its root. */
  private static final class SequenceBlocks {
    final List<Block> blocks = new ArrayList<>();
  }

  /**
   * The cycle of an engine.
   *
   * @param engine number, which decides all keys and tokens
   * @param length steps that store; those that only evict at the end come on top
   */
  public IngestScenario(int engine, int length) {
    random = new SplittableRandom(engine * 7919L + 1);
    nextKey = (engine + 1L) << 40;
    List<SequenceBlocks> running = new ArrayList<>();
    Deque<SequenceBlocks> oldest = new ArrayDeque<>();
    int held = 0;
    for (int step = 0; step < length; step++) {
      List<CacheEvent> events = new ArrayList<>(EVENTS);
      for (int i = 0; i < RUNNING; i++) {
        if (running.size() < RUNNING) {
          running.add(line(oldest));
        } else if (running.get(i).blocks.size() > 40 + 7 * i) {
          running.set(i, line(oldest));
        }
        events.add(store(running.get(i), 1));
      }
      events.add(store(line(oldest), PROMPT));
      held += STORED;
      if (held > HELD) {
        held -= evict(events, oldest, STORED, REMOVALS, running);
      }
      steps.add(events);
    }
    while (!oldest.isEmpty()) {
      List<CacheEvent> events = new ArrayList<>(EVENTS);
      evict(events, oldest, STORED, REMOVALS, List.of());
      steps.add(events);
    }
  }

  private static SequenceBlocks line(Deque<SequenceBlocks> oldest) {
    SequenceBlocks line = new SequenceBlocks();
    oldest.addLast(line);
    return line;
  }

  /** The steps of a cycle. */
  public List<List<CacheEvent>> steps() {
    return steps;
  }

  /** Blocks that a step stores and evicts together, over a cycle: whatever is stored is evicted again. */
  public double blocksPerStep() {
    long stored =
        steps.stream()
            .flatMap(List::stream)
            .mapToLong(event -> event instanceof CacheEvent.Stored s ? s.keys().length : 0)
            .sum();
    return 2.0 * stored / steps.size();
  }

  /** The steps as an engine sends them. */
  public List<byte[]> payloads() {
    EventEncoder encoder = new EventEncoder(EventFormat.VLLM);
    return steps.stream().map(events -> encoder.encode(1.0, events, 0)).toList();
  }

  private CacheEvent store(SequenceBlocks line, int count) {
    long parent = line.blocks.isEmpty() ? 0 : line.blocks.getLast().key();
    long[] keys = new long[count];
    int[] tokens = new int[count * BLOCK];
    for (int i = 0; i < count; i++) {
      int[] own = new int[BLOCK];
      for (int t = 0; t < BLOCK; t++) {
        own[t] = random.nextInt(150_000);
        tokens[i * BLOCK + t] = own[t];
      }
      keys[i] = nextKey++ * 0x9E3779B97F4A7C15L;
      line.blocks.add(new Block(keys[i], own));
    }
    return new CacheEvent.Stored(parent == 0 ? null : parent, keys, tokens, BLOCK, null, null, "GPU");
  }

  /** Evicts from the ends of the oldest chains that do not grow any more; returns how many. */
  private static int evict(
      List<CacheEvent> events, Deque<SequenceBlocks> oldest, int count, int removals, List<SequenceBlocks> growing) {
    int evicted = 0;
    for (int i = 0; i < removals && evicted < count; i++) {
      int share = (count - evicted) / (removals - i);
      List<Long> keys = new ArrayList<>(share);
      while (keys.size() < share && !oldest.isEmpty()) {
        SequenceBlocks line = oldest.getFirst();
        if (line.blocks.isEmpty() || growing.contains(line)) {
          oldest.removeFirst();
          if (growing.contains(line)) {
            oldest.addLast(line);
          }
        } else {
          keys.add(line.blocks.removeLast().key());
        }
      }
      if (keys.isEmpty()) {
        break;
      }
      evicted += keys.size();
      events.add(new CacheEvent.Removed(keys.stream().mapToLong(Long::longValue).toArray(), "GPU"));
    }
    return evicted;
  }

  /**
   * The chains that are held after the first {@code count} steps of a cycle, each to its end; together they name
   * every block that is held.
   */
  public static List<long[]> heldAfter(List<List<CacheEvent>> steps, int count) {
    Map<Long, long[]> chains = new HashMap<>();
    Set<Long> inner = new HashSet<>();
    Map<Long, Long> parents = new HashMap<>();
    BlockHash hash = BlockHash.in(null, null);
    for (List<CacheEvent> step : steps.subList(0, count)) {
      for (CacheEvent event : step) {
        switch (event) {
          case CacheEvent.Stored stored -> {
            long[] chain = stored.parent() == null ? new long[0] : chains.getOrDefault(stored.parent(), new long[0]);
            Long parent = stored.parent();
            for (int i = 0; i < stored.keys().length; i++) {
              long[] longer = Arrays.copyOf(chain, chain.length + 1);
              long before = chain.length == 0 ? BlockHash.NONE : chain[chain.length - 1];
              longer[chain.length] = BlockHash.chained(before, hash.local(stored.tokens(), i * BLOCK, BLOCK));
              chains.put(stored.keys()[i], longer);
              if (parent != null) {
                inner.add(parent);
                parents.put(stored.keys()[i], parent);
              }
              parent = stored.keys()[i];
              chain = longer;
            }
          }
          case CacheEvent.StoredInGroup _, CacheEvent.RemovedFromGroup _ ->
              throw new IllegalStateException("engines of one group have no such events");
          case CacheEvent.Removed removed -> {
            for (long key : removed.keys()) {
              chains.remove(key);
              Long parent = parents.remove(key);
              if (parent != null) {
                inner.remove(parent);
              }
            }
          }
          case CacheEvent.Cleared _ -> chains.clear();
        }
      }
    }
    List<long[]> held = new ArrayList<>();
    chains.forEach(
        (key, chain) -> {
          if (!inner.contains(key)) {
            held.add(chain);
          }
        });
    return held;
  }
}
