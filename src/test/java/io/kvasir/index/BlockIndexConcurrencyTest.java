package io.kvasir.index;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicIntegerArray;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Two event threads write while two threads search. A reader must never see a worker hold what it never
 * stored, nor miss what it never gave up, however often the memory behind changes its blocks.
 */
@Tag("lock-free")
final class BlockIndexConcurrencyTest {
  private static final int WORKERS = 8;
  private static final int FAMILIES = 24;
  private static final int OPERATIONS = 15_000;

  private final ConcurrentLinkedQueue<Throwable> failures = new ConcurrentLinkedQueue<>();
  private final AtomicBoolean done = new AtomicBoolean();

  /** Each family of chains shares a trunk; its branches leave it anywhere. */
  private static List<long[]> family(int number, SplittableRandom random) {
    List<long[]> family = new ArrayList<>();
    long[] trunk = extend(new long[0], 0, 20 + random.nextInt(300), number * 1000L + 1);
    family.add(trunk);
    for (int i = 1; i < 8; i++) {
      long[] base = family.get(random.nextInt(family.size()));
      int shared = 1 + random.nextInt(base.length);
      family.add(extend(base, shared, shared + 1 + random.nextInt(60), number * 1000L + 100L * i));
    }
    return family;
  }

  private static long[] extend(long[] base, int shared, int length, long seed) {
    long[] chain = new long[length];
    System.arraycopy(base, 0, chain, 0, shared);
    for (int i = shared; i < length; i++) {
      chain[i] = BlockHash.chained(i == 0 ? BlockHash.NONE : chain[i - 1], seed + i);
    }
    return chain;
  }

  /** A worker may hold the families whose number is its own modulo the number of workers, or one more. */
  private static boolean mayHold(int worker, int family) {
    return family % WORKERS == worker || (family + 1) % WORKERS == worker;
  }

  @ParameterizedTest
  @ValueSource(ints = {64, 256})
  void search_besideWriters_neitherInventsNorMissesHolders(int slots) throws InterruptedException {
    BlockIndex index = new BlockIndex(slots, 64 << 20);
    SplittableRandom seeds = new SplittableRandom(slots);
    List<List<long[]>> families = new ArrayList<>();
    for (int i = 0; i < FAMILIES; i++) {
      families.add(family(i, seeds));
    }
    WorkerBlocks[] handles = new WorkerBlocks[WORKERS];
    for (int w = 0; w < WORKERS; w++) {
      handles[w] = index.open(slot(w, slots));
      // The trunk of one family stays for good: branches come and go in its segments.
      long[] trunk = families.get(w).getFirst();
      handles[w].store(0, true, trunk, trunk, trunk.length, Tier.REMOTE, false);
    }
    List<Thread> writers = new ArrayList<>();
    for (int t = 0; t < 2; t++) {
      int thread = t;
      SplittableRandom random = seeds.split();
      writers.add(start(() -> write(handles, families, thread, random)));
    }
    List<Thread> readers = new ArrayList<>();
    for (int t = 0; t < 2; t++) {
      SplittableRandom random = seeds.split();
      readers.add(start(() -> read(index, families, random)));
    }
    for (Thread writer : writers) {
      writer.join();
    }
    done.set(true);
    for (Thread reader : readers) {
      reader.join();
    }
    assertThat(failures).isEmpty();
    for (int w = 0; w < WORKERS; w++) {
      handles[w].clear(Tier.DEVICE);
      assertThat(handles[w].size()).isEqualTo(families.get(w).getFirst().length);
      handles[w].clear();
    }
    assertThat(index.rows()).isZero();
  }

  private static int slot(int worker, int slots) {
    return worker * (slots - 1) / (WORKERS - 1);
  }

  private Thread start(Runnable work) {
    return Thread.ofPlatform()
        .start(
            () -> {
              try {
                work.run();
              } catch (Throwable e) {
                failures.add(e);
                done.set(true);
              }
            });
  }

  private void write(WorkerBlocks[] handles, List<List<long[]>> families, int thread, SplittableRandom random) {
    for (int i = 0; i < OPERATIONS && !done.get(); i++) {
      int worker = 2 * random.nextInt(WORKERS / 2) + thread;
      int number = random.nextInt(FAMILIES);
      if (!mayHold(worker, number)) {
        continue;
      }
      List<long[]> family = families.get(number);
      long[] chain = family.get(random.nextInt(family.size()));
      switch (random.nextInt(12)) {
        case 0 -> handles[worker].clear(Tier.DEVICE);
        case 1, 2, 3, 4, 5 -> {
          int count = 1 + random.nextInt(chain.length);
          handles[worker].store(0, true, chain, chain, count, Tier.DEVICE, false);
        }
        default -> {
          int from = random.nextInt(chain.length);
          long[] tail = new long[chain.length - from];
          for (int p = 0; p < tail.length; p++) {
            tail[p] = chain[chain.length - 1 - p];
          }
          handles[worker].remove(tail, tail.length, Tier.DEVICE, false);
        }
      }
    }
  }

  private void read(BlockIndex index, List<List<long[]>> families, SplittableRandom random) {
    int[] depths = new int[index.slots()];
    long[] candidates = new long[index.slots() / 64];
    Arrays.fill(candidates, -1);
    while (!done.get()) {
      int number = random.nextInt(FAMILIES);
      List<long[]> family = families.get(number);
      long[] hashes = family.get(random.nextInt(family.size()));
      Chain chain = new Chain(hashes, 16);
      index.search(chain, candidates, depths);
      for (int w = 0; w < WORKERS; w++) {
        int depth = depths[slot(w, index.slots())];
        if (!mayHold(w, number) && depth != 0) {
          throw new AssertionError("worker " + w + " is seen to hold " + depth + " of family " + number);
        }
        if (w == number) {
          int kept = shared(hashes, family.getFirst());
          int verified = index.verify(chain, slot(w, index.slots()));
          if (depth < kept || verified < kept) {
            throw new AssertionError("worker " + w + " keeps " + kept + ", seen " + depth + " and " + verified);
          }
        }
      }
    }
  }

  private static int shared(long[] a, long[] b) {
    int shared = 0;
    while (shared < Math.min(a.length, b.length) && a[shared] == b[shared]) {
      shared++;
    }
    return shared;
  }

  /** Workers leave and come back on the same slot with other blocks, swept beside their neighbours' writers. */
  @ParameterizedTest
  @ValueSource(ints = {64, 128})
  void sweep_besideReadersAndWriters_leavesNothingToTheSlotsNextWorker(int slots) throws InterruptedException {
    BlockIndex index = new BlockIndex(slots, 64 << 20);
    SplittableRandom seeds = new SplittableRandom(slots);
    List<List<long[]>> families = List.of(family(0, seeds), family(1, seeds));
    // Two numbers more per change of a slot's worker: odd while it changes. The worker of life n holds family n/2 % 2.
    AtomicIntegerArray lives = new AtomicIntegerArray(WORKERS);
    for (int w = 0; w < WORKERS; w++) {
      index.open(slot(w, slots));
    }
    List<Thread> writers = new ArrayList<>();
    for (int t = 0; t < 2; t++) {
      int thread = t;
      SplittableRandom random = seeds.split();
      writers.add(
          start(
              () -> {
                for (int i = 0; i < 1000 && !done.get(); i++) {
                  int worker = 2 * random.nextInt(WORKERS / 2) + thread;
                  int life = lives.incrementAndGet(worker);
                  index.retire(slot(worker, slots));
                  index.sweep(slot(worker, slots));
                  WorkerBlocks handle = index.open(slot(worker, slots));
                  lives.set(worker, life + 1);
                  for (long[] chain : families.get((life + 1) / 2 % 2)) {
                    handle.store(0, true, chain, chain, 1 + random.nextInt(chain.length), Tier.DEVICE, true);
                  }
                }
              }));
    }
    Thread reader =
        start(
            () -> {
              SplittableRandom random = new SplittableRandom(3);
              int[] depths = new int[slots];
              long[] candidates = new long[slots / 64];
              Arrays.fill(candidates, -1);
              while (!done.get()) {
                int number = random.nextInt(2);
                List<long[]> family = families.get(number);
                int[] before = new int[WORKERS];
                for (int w = 0; w < WORKERS; w++) {
                  before[w] = lives.get(w);
                }
                index.search(new Chain(family.get(random.nextInt(family.size())), 16), candidates, depths);
                for (int w = 0; w < WORKERS; w++) {
                  boolean same = before[w] % 2 == 0 && before[w] == lives.get(w);
                  if (same && before[w] / 2 % 2 != number && depths[slot(w, slots)] != 0) {
                    throw new AssertionError("worker " + w + " inherited " + depths[slot(w, slots)] + " blocks");
                  }
                }
              }
            });
    for (Thread writer : writers) {
      writer.join();
    }
    done.set(true);
    reader.join();
    assertThat(failures).isEmpty();
    for (int w = 0; w < WORKERS; w++) {
      index.retire(slot(w, slots));
      index.sweep(slot(w, slots));
    }
    assertThat(index.rows()).isZero();
  }

  /** Two workers on the same rows, all the time: each must find what it has just written. */
  @ParameterizedTest
  @ValueSource(ints = {64, 256})
  void store_sameRowsFromTwoThreads_losesNoBit(int slots) throws InterruptedException {
    BlockIndex index = new BlockIndex(slots, 64 << 20);
    List<Thread> writers = new ArrayList<>();
    for (int t = 0; t < 2; t++) {
      int slot = t;
      WorkerBlocks handle = index.open(slot);
      writers.add(
          start(
              () -> {
                for (int i = 0; i < 150_000 && !done.get(); i++) {
                  long[] hashes = extend(new long[0], 0, 3, i / 16);
                  Chain chain = new Chain(hashes, 16);
                  handle.store(0, true, hashes, hashes, 3, Tier.DEVICE, false);
                  int held = index.verify(chain, slot);
                  handle.remove(hashes, 3, Tier.DEVICE, false);
                  int left = index.verify(chain, slot);
                  if (held != 3 || left != 0) {
                    throw new AssertionError("stored 3, found " + held + ", and " + left + " after removing them");
                  }
                }
              }));
    }
    for (Thread writer : writers) {
      writer.join();
    }
    assertThat(failures).isEmpty();
    assertThat(index.rows()).isZero();
  }

  /** One segment serves two chains of different workers in turn, as fast as can be. */
  @ParameterizedTest
  @ValueSource(ints = {64, 256})
  void search_segmentChangesChains_showsNoOthersHolders(int slots) throws InterruptedException {
    BlockIndex index = new BlockIndex(slots, 64 << 20);
    WorkerBlocks one = index.open(0);
    WorkerBlocks other = index.open(slots - 1);
    long[] first = {1};
    long[] second = {2};
    while (Segments.mix(first[0]) >>> 56 != Segments.mix(second[0]) >>> 56) {
      second[0]++;
    }
    Thread reader =
        start(
            () -> {
              int[] depths = new int[slots];
              long[] candidates = new long[slots / 64];
              Arrays.fill(candidates, -1);
              while (!done.get()) {
                index.search(new Chain(first, 16), candidates, depths);
                int wrong = depths[slots - 1];
                index.search(new Chain(second, 16), candidates, depths);
                if (wrong != 0 || depths[0] != 0 || index.verify(new Chain(first, 16), slots - 1) != 0) {
                  throw new AssertionError("another chain's holder is seen");
                }
              }
            });
    for (int i = 0; i < 500_000 && !done.get(); i++) {
      one.store(0, true, first, first, 1, Tier.DEVICE, true);
      one.remove(1, Tier.DEVICE, true);
      other.store(0, true, second, second, 1, Tier.DEVICE, true);
      other.remove(second[0], Tier.DEVICE, true);
    }
    done.set(true);
    reader.join();
    assertThat(failures).isEmpty();
  }
}
