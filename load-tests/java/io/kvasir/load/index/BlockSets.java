package io.kvasir.load.index;

import io.kvasir.load.index.IndexTrace.Request;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** One concurrent map from a block to the set of its holders, a small bitmap that is replaced when it changes. */
final class BlockSets implements IndexUnderTest {
  private final Map<Long, long[]> holders = new ConcurrentHashMap<>();
  private final List<Map<Long, Long>> hashes = new ArrayList<>();
  private final int words;
  private final int workers;

  BlockSets(int workers) {
    this.workers = workers;
    this.words = (workers + 63) / 64;
    for (int i = 0; i < workers; i++) {
      hashes.add(new HashMap<>());
    }
  }

  @Override
  public int apply(Request request) {
    int worker = request.worker();
    Map<Long, Long> own = hashes.get(worker);
    for (long key : request.evicted()) {
      Long hash = own.remove(key);
      if (hash != null) {
        holders.computeIfPresent(hash, (_, set) -> without(set, worker));
      }
    }
    for (int i = 0; i < request.keys().length; i++) {
      own.put(request.keys()[i], request.hashes()[i]);
      holders.compute(request.hashes()[i], (_, set) -> with(set == null ? new long[words] : set, worker));
    }
    return request.evicted().length + request.keys().length;
  }

  private static long[] with(long[] set, int worker) {
    long[] changed = set.clone();
    changed[worker / 64] |= 1L << worker;
    return changed;
  }

  @SuppressWarnings("ReturnValueIgnored") // null tells the map to drop the block
  private static long[] without(long[] set, int worker) {
    long[] changed = set.clone();
    changed[worker / 64] &= ~(1L << worker);
    for (long word : changed) {
      if (word != 0) {
        return changed;
      }
    }
    return null;
  }

  @Override
  public void search(long[] chain, long[] locals, int[] depths) {
    long[] left = new long[words];
    Arrays.fill(left, -1L);
    if (workers % 64 != 0) {
      left[words - 1] = (1L << workers) - 1;
    }
    for (int depth = 0; depth <= chain.length; depth++) {
      long[] set = depth == chain.length ? null : holders.get(chain[depth]);
      boolean any = false;
      for (int word = 0; word < words; word++) {
        long stay = set == null ? 0 : left[word] & set[word];
        for (long gone = left[word] & ~stay; gone != 0; gone &= gone - 1) {
          depths[word * 64 + Long.numberOfTrailingZeros(gone)] = depth;
        }
        left[word] = stay;
        any |= stay != 0;
      }
      if (!any) {
        return;
      }
    }
  }

  @Override
  public long pairs() {
    long pairs = 0;
    for (Map<Long, Long> own : hashes) {
      pairs += own.size();
    }
    return pairs;
  }
}
