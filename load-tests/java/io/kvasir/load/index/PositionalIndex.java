package io.kvasir.load.index;

import io.kvasir.load.index.IndexTrace.Request;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The positional index of NVIDIA's "Flash Indexer" article: {@code (position, local hash)} → chain hash →
 * holders. A look-up jumps {@value #JUMP} blocks at a time while every worker left is still there and
 * looks at what it jumped over where one is not.
 */
final class PositionalIndex implements IndexUnderTest {
  private static final int JUMP = 32;

  private record Position(int position, long local) {}

  private record Block(Position place, long hash) {}

  /** The holders of one block, and those of other chains' blocks with the same content at the same place. */
  private record Entry(long hash, long[] holders, @Nullable Entry other) {
    long @Nullable [] of(long wanted) {
      for (Entry entry = this; entry != null; entry = entry.other) {
        if (entry.hash == wanted) {
          return entry.holders;
        }
      }
      return null;
    }
  }

  private final Map<Position, Entry> entries = new ConcurrentHashMap<>();
  private final List<Map<Long, Block>> blocks = new ArrayList<>();
  private final int words;
  private final int workers;

  PositionalIndex(int workers) {
    this.workers = workers;
    this.words = (workers + 63) / 64;
    for (int i = 0; i < workers; i++) {
      blocks.add(new HashMap<>());
    }
  }

  @Override
  public int apply(Request request) {
    int worker = request.worker();
    Map<Long, Block> own = blocks.get(worker);
    for (long key : request.evicted()) {
      Block block = own.remove(key);
      if (block != null) {
        entries.computeIfPresent(block.place, (_, entry) -> changed(entry, block.hash, worker, false));
      }
    }
    for (int i = 0; i < request.keys().length; i++) {
      int position = request.held() + i;
      Block block = new Block(new Position(position, request.locals()[position]), request.hashes()[i]);
      own.put(request.keys()[i], block);
      entries.compute(block.place, (_, entry) -> changed(entry, block.hash, worker, true));
    }
    return request.evicted().length + request.keys().length;
  }

  private Entry changed(@Nullable Entry entry, long hash, int worker, boolean add) {
    if (entry == null) {
      return add ? new Entry(hash, bit(new long[words], worker, true), null) : null;
    }
    if (entry.hash != hash) {
      return new Entry(entry.hash, entry.holders, changed(entry.other, hash, worker, add));
    }
    long[] holders = bit(entry.holders.clone(), worker, add);
    return count(holders) == 0 ? entry.other : new Entry(hash, holders, entry.other);
  }

  private static long[] bit(long[] set, int worker, boolean add) {
    long bit = 1L << worker;
    set[worker / 64] = add ? set[worker / 64] | bit : set[worker / 64] & ~bit;
    return set;
  }

  private static int count(long[] set) {
    int count = 0;
    for (long word : set) {
      count += Long.bitCount(word);
    }
    return count;
  }

  private long @Nullable [] holders(long[] chain, long[] locals, int position) {
    Entry entry = entries.get(new Position(position, locals[position]));
    return entry == null ? null : entry.of(chain[position]);
  }

  @Override
  public void search(long[] chain, long[] locals, int[] depths) {
    long[] left = new long[words];
    Arrays.fill(left, -1L);
    if (workers % 64 != 0) {
      left[words - 1] = (1L << workers) - 1;
    }
    int depth = 0;
    while (depth < chain.length && count(left) > 0) {
      int last = Math.min(depth + JUMP, chain.length) - 1;
      if (holdAll(holders(chain, locals, last), left)) {
        depth = last + 1;
      } else {
        for (; depth <= last && count(left) > 0; depth++) {
          drop(left, holders(chain, locals, depth), depth, depths);
        }
      }
    }
    drop(left, null, chain.length, depths);
  }

  private static boolean holdAll(long @Nullable [] holders, long[] left) {
    for (int word = 0; holders != null && word < left.length; word++) {
      if ((left[word] & ~holders[word]) != 0) {
        return false;
      }
    }
    return holders != null;
  }

  private static void drop(long[] left, long @Nullable [] holders, int depth, int[] depths) {
    for (int word = 0; word < left.length; word++) {
      long stay = holders == null ? 0 : left[word] & holders[word];
      for (long gone = left[word] & ~stay; gone != 0; gone &= gone - 1) {
        depths[word * 64 + Long.numberOfTrailingZeros(gone)] = depth;
      }
      left[word] = stay;
    }
  }

  @Override
  public long pairs() {
    long pairs = 0;
    for (Map<Long, Block> own : blocks) {
      pairs += own.size();
    }
    return pairs;
  }
}
