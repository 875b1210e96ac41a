package io.kvasir.cell.events;

import io.kvasir.events.KvEvent.Stored;
import io.kvasir.index.BlockHash;
import io.kvasir.index.Chain;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLongArray;
import org.jspecify.annotations.Nullable;

/**
 * The chunks that a cache beside a worker's engine was reported to hold. An LMCache connector reports the chunks that
 * it stores, under keys of its own and longer than the engine's blocks; those that it removes only from LMCache 0.5.6
 * on, in its multi-process mode. So a report is a hint where a prompt may be, no proof, and does not belong into the
 * index.
 *
 * <p>What such a cache drops first is oldest, and how much it holds nobody tells. So a chunk's age is the number of
 * chunks stored since, and hints of a greater age than the <b>reach</b> are not given: it comes down halfway to the age
 * of each chunk that an engine did not find, and up to that of each that it found.
 *
 * <p>Memory is fixed: {@value #PLACES} chunks (448 KiB with what joins their keys), in buckets of {@value #BUCKET}
 * where the oldest gives way. A chunk is known by the chain hash at its end, which stands for everything before it,
 * too. One thread writes; any thread reads, without waiting, and may miss a chunk that is being moved in its bucket.
 */
public final class ChunkHints {
  private static final int PLACES = 1 << 14;
  private static final int BUCKET = 8;
  private static final long PHI = 0x9E3779B97F4A7C15L;
  /** So many are given again and again: of a cache that finds nothing they would never be tried. */
  private static final int LEAST_REACH = 64;

  private static final int BITS = Integer.numberOfTrailingZeros(PLACES / BUCKET);

  private final AtomicLongArray held = new AtomicLongArray(PLACES);

  /** How many chunks had been stored when each of those held was. */
  private final AtomicIntegerArray births = new AtomicIntegerArray(PLACES);

  private final AtomicInteger reach = new AtomicInteger(PLACES);
  private final long[] keys = new long[PLACES];
  private final long[] ends = new long[PLACES];
  private final EventHashing hashing = new EventHashing();

  /** Blocks in a chunk, 0 before there was one. */
  private volatile int chunkBlocks;

  /** Chunks stored so far. */
  private volatile int stored;

  /**
   * What an engine found of hinted chunks that it did not hold itself.
   *
   * @param found chunks that it found
   * @param missing chunks that it did not, 0 or 1: nothing is known of those behind it
   */
  public record Findings(int found, int missing) {
    private static final Findings NONE = new Findings(0, 0);
  }

  /**
   * Takes note of stored chunks. Chunks that are not cut where the engine's blocks are, and those whose parent is not
   * known, are left out.
   */
  void stored(Stored report, int blockSize) {
    if (report.blockSize() % blockSize != 0 || report.blockSize() < blockSize) {
      return;
    }
    long parent = report.root() ? BlockHash.NONE : end(report.parentKey());
    if (parent == BlockHash.NONE && !report.root()) {
      return;
    }
    int before = stored;
    int perChunk = report.blockSize() / blockSize;
    int blocks = report.keys().length * perChunk;
    long[] hashes = new long[blocks];
    hashing.chain(inBlocks(report, blockSize), blocks, parent, EventHashing.salt(report), hashes);
    for (int i = 0; i < report.keys().length; i++) {
      long end = hashes[(i + 1) * perChunk - 1];
      join(report.keys()[i], end);
      hold(end, before);
    }
    stored = before + report.keys().length;
    chunkBlocks = perChunk;
  }

  /** Forgets chunks, where the connector reports them removed. */
  void removed(long[] removedKeys) {
    for (long key : removedKeys) {
      long end = end(key);
      for (int place = bucket(end); place < bucket(end) + BUCKET; place++) {
        held.compareAndSet(place, end, BlockHash.NONE);
      }
    }
  }

  /** How many leading blocks of a chain may be there, in whole chunks that are not too old. */
  public int depth(Chain chain) {
    return leading(chain, reach.getPlain(), null);
  }

  /** The ages of a chain's leading chunks that were reported, however old; a chunk's age is that of now. */
  public int[] ages(Chain chain) {
    int step = chunkBlocks;
    int[] ages = new int[step == 0 ? 0 : chain.length() / step];
    return Arrays.copyOf(ages, step == 0 ? 0 : leading(chain, Integer.MAX_VALUE, ages) / step);
  }

  /**
   * Learns from what an engine found how old chunks may be. Any thread.
   *
   * @param ages of the prompt's leading chunks when it was sent
   * @param blockSize tokens in a block of the prompt's chain
   * @param known leading tokens that the engine held itself: its finding them proves nothing
   * @param found leading tokens of the prompt that it found
   * @param prompt all tokens of the prompt, of which the last is never found
   */
  public Findings learn(int[] ages, int blockSize, int known, int found, int prompt) {
    int chunk = chunkBlocks * blockSize;
    int kept = 0;
    for (int i = 0; i < ages.length; i++) {
      int age = ages[i];
      int end = (i + 1) * chunk;
      if (end >= prompt) {
        break;
      }
      if (end > found) {
        int _ = reach.accumulateAndGet(age, (now, its) -> its > now ? now : Math.max(LEAST_REACH, (now + its - 1) / 2));
        return new Findings(kept, 1);
      }
      if (end > known) {
        kept++;
        int _ = reach.accumulateAndGet(Math.min(age, PLACES), Math::max);
      }
    }
    return kept == 0 ? Findings.NONE : new Findings(kept, 0);
  }

  /** How many leading blocks are there in chunks of at most an age; writes their ages. */
  private int leading(Chain chain, int oldest, int @Nullable [] ages) {
    int step = chunkBlocks;
    int now = stored;
    int depth = 0;
    while (step > 0 && depth + step <= chain.length()) {
      int place = place(chain.hashes()[depth + step - 1]);
      int age = place < 0 ? Integer.MAX_VALUE : Math.max(0, now - births.getOpaque(place));
      if (place < 0 || age > oldest) {
        break;
      }
      if (ages != null) {
        ages[depth / step] = age;
      }
      depth += step;
    }
    return depth;
  }

  private static Stored inBlocks(Stored stored, int blockSize) {
    return new Stored(
        stored.root(), stored.parentKey(), stored.keys(), stored.tokens(), blockSize, stored.tier(), stored.lora(),
        stored.cacheSalt(), stored.group(), stored.spec(), List.of());
  }

  private static int bucket(long of) {
    return (int) ((of * PHI) >>> (Long.SIZE - BITS)) * BUCKET;
  }

  /** Where a chunk is; -1 where it is not. */
  private int place(long end) {
    int from = bucket(end);
    for (int place = from; place < from + BUCKET; place++) {
      if (held.getOpaque(place) == end) {
        return place;
      }
    }
    return -1;
  }

  private void hold(long end, int birth) {
    int from = bucket(end);
    int last = place(end);
    for (int place = last < 0 ? from + BUCKET - 1 : last; place > from; place--) {
      births.setOpaque(place, births.getOpaque(place - 1));
      held.setOpaque(place, held.getOpaque(place - 1));
    }
    births.setOpaque(from, birth);
    held.setOpaque(from, end);
  }

  private void join(long key, long end) {
    int from = bucket(key);
    int place = from;
    while (place < from + BUCKET - 1 && keys[place] != key) {
      place++;
    }
    System.arraycopy(keys, from, keys, from + 1, place - from);
    System.arraycopy(ends, from, ends, from + 1, place - from);
    keys[from] = key;
    ends[from] = end;
  }

  /** The chain hash at a chunk's end, none when the chunk is not known. */
  private long end(long key) {
    int from = bucket(key);
    for (int place = from; place < from + BUCKET; place++) {
      if (keys[place] == key && ends[place] != BlockHash.NONE) {
        return ends[place];
      }
    }
    return BlockHash.NONE;
  }
}
