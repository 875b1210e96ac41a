package io.kvasir.load;

import io.kvasir.index.BlockIndex;
import io.kvasir.index.Chain;
import io.kvasir.index.Tier;
import io.kvasir.index.WorkerBlocks;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A soak of the index: writers store, remove, clear and replace workers for hours if need be, and readers prove of
 * every answer that it was true.
 *
 * <pre>
 *   load-tests/with-jdk -Xmx2g io.kvasir.load.IndexSoak [blocks written, 100000000] [writers, 2] [readers, 1]
 * </pre>
 *
 * <p>Before a writer changes how deep a worker is in a family of chains it publishes the least and the
 * greatest depth the worker will have until it publishes again, with a number that rises. A reader looks at
 * these before and after its search: if something was published at most once between, the depths published
 * both times bound what the search may say. More would be a false holder, less a missed one; either ends the
 * soak. A family is four chains that part from each other, and gives way to another one of new hashes again
 * and again, so every segment serves many chains. What is asked of memory: after the first quarter neither
 * index nor heap grows.
 */
public final class IndexSoak {
  private static final int BRANCHES = 4;
  private static final int GENERATIONS = 1 << 14;

  // What a worker holds of a family: [ number:20 | generation:14 | branch:2 | most:14 | least:14 ].
  private static final int NUMBER = 44;
  private static final int GENERATION = 30;
  private static final int BRANCH = 28;
  private static final int MOST = 14;
  private static final int DEPTH = (1 << 14) - 1;

  /**
   * How much.
   *
   * @param slots of the index
   * @param workers at least as many as writers
   * @param longest chain, at most 16,000
   * @param blocks to store and remove in all
   */
  public record Size(int slots, int workers, int families, int longest, int writers, int readers, long blocks) {}

  /**
   * What was done.
   *
   * @param answers depths that were checked, one for each worker and search
   * @param open of these, how many could not be judged: the worker had changed more than once meanwhile
   */
  public record Report(
      long blocks, long searches, long answers, long open, long restarts, double seconds, long bytes,
      long bytesQuarter) {}

  private final Size size;
  private final BlockIndex index;
  private final WorkerBlocks[] workers;
  private final AtomicLongArray states;
  private final AtomicIntegerArray generations;
  private final LongAdder blocks = new LongAdder();
  private final LongAdder searches = new LongAdder();
  private final LongAdder answers = new LongAdder();
  private final LongAdder open = new LongAdder();
  private final LongAdder restarts = new LongAdder();
  private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
  private volatile boolean stopped;

  private IndexSoak(Size size) {
    this.size = size;
    this.index = new BlockIndex(size.slots(), 1L << 30);
    this.workers = new WorkerBlocks[size.workers()];
    for (int worker = 0; worker < workers.length; worker++) {
      workers[worker] = index.open(slot(worker));
    }
    this.states = new AtomicLongArray(size.workers() * size.families());
    this.generations = new AtomicIntegerArray(size.families());
  }

  public static void main(String[] args) throws InterruptedException {
    long blocks = args.length > 0 ? Long.parseLong(args[0]) : 100_000_000;
    int writers = args.length > 1 ? Integer.parseInt(args[1]) : 2;
    int readers = args.length > 2 ? Integer.parseInt(args[2]) : 1;
    Report report = run(new Size(64, 16, 512, 300, writers, readers, blocks), System.out::println);
    System.out.printf(
        "%,d blocks written in %.1f s (%.1f M/s), %,d workers replaced; "
            + "%,d searches, %,d depths true, %,d not judged%n",
        report.blocks(), report.seconds(), report.blocks() / report.seconds() / 1e6, report.restarts(),
        report.searches(), report.answers() - report.open(), report.open());
  }

  /**
   * Runs a soak.
   *
   * @param progress takes a line every two seconds
   * @throws AssertionError when an answer was false, something was left or memory grew
   */
  public static Report run(Size size, Consumer<String> progress) throws InterruptedException {
    return new IndexSoak(size).run(progress);
  }

  private Report run(Consumer<String> progress) throws InterruptedException {
    long start = System.nanoTime();
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < size.writers(); i++) {
      int writer = i;
      threads.add(start("writer-" + i, () -> write(writer)));
    }
    for (int i = 0; i < size.readers(); i++) {
      int seed = 1000 + i;
      threads.add(start("reader-" + i, () -> read(new SplittableRandom(seed))));
    }
    long quarterBytes = 0;
    long quarterHeap = 0;
    long reported = start;
    while (!stopped) {
      Thread.sleep(20);
      stopped |= blocks.sum() >= size.blocks();
      if (quarterBytes == 0 && blocks.sum() >= size.blocks() / 4) {
        quarterHeap = heapInUse();
        quarterBytes = index.bytes();
      }
      if (System.nanoTime() - reported >= TimeUnit.SECONDS.toNanos(2) || stopped) {
        reported = System.nanoTime();
        progress.accept(line((reported - start) / 1e9));
      }
    }
    for (Thread thread : threads) {
      thread.join();
    }
    Report report =
        new Report(
            blocks.sum(), searches.sum(), answers.sum(), open.sum(), restarts.sum(), (System.nanoTime() - start) / 1e9,
            index.bytes(), quarterBytes);
    Throwable found = failure.get();
    if (found != null) {
      throw new AssertionError("after " + report, found);
    }
    // Each of the 256 shards may come to keep a few free segments, and a larger table, while luck favours it.
    check(report.bytes() <= quarterBytes + quarterBytes / 10 + (1 << 20), "the index grew: " + report);
    long heap = heapInUse();
    check(
        heap <= quarterHeap + quarterHeap / 5 + (16 << 20),
        "the heap grew from " + quarterHeap + " to " + heap + " bytes: " + report);
    for (WorkerBlocks worker : workers) {
      worker.clear();
    }
    check(index.rows() == 0 && index.refused() == 0, index.rows() + " rows are left");
    return report;
  }

  private String line(double seconds) {
    int done = (int) Math.min(20, 20 * blocks.sum() / size.blocks());
    return "[%s%s] %6.1f M blocks, %5.2f M/s, %8.1f k searches, index %6.1f MB, heap %6.1f MB"
        .formatted(
            "#".repeat(done), ".".repeat(20 - done), blocks.sum() / 1e6, blocks.sum() / seconds / 1e6,
            searches.sum() / 1e3, index.bytes() / 1e6,
            ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed() / 1e6);
  }

  private static long heapInUse() {
    System.gc();
    return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
  }

  private static void check(boolean right, String message) {
    if (!right) {
      throw new AssertionError(message);
    }
  }

  private Thread start(String name, Runnable work) {
    return Thread.ofPlatform()
        .name(name)
        .start(
            () -> {
              try {
                work.run();
              } catch (Throwable e) {
                failure.compareAndSet(null, e);
                stopped = true;
              }
            });
  }

  private int slot(int worker) {
    return worker * (size.slots() - 1) / Math.max(1, size.workers() - 1);
  }

  // Chains. Branch b leaves the trunk, which is branch 0, at a block of its own; hashes are as good as random.

  private int leaves(int branch) {
    return branch == 0 ? DEPTH : size.longest() * branch / (BRANCHES + 1) + branch;
  }

  private int shared(int branch, int other) {
    return branch == other ? DEPTH : Math.min(leaves(branch), leaves(other));
  }

  private long hash(int family, int generation, int branch, int block) {
    long path = block < leaves(branch) ? 0 : branch;
    long z = ((long) family << 40 | (long) generation << 20 | path << 16 | block) + 1;
    z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
    z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
    return z ^ (z >>> 31);
  }

  // Writing.

  private void write(int writer) {
    SplittableRandom random = new SplittableRandom(writer);
    long[] hashes = new long[size.longest()];
    while (!stopped) {
      int worker = writer + size.writers() * random.nextInt((size.workers() - 1 - writer) / size.writers() + 1);
      int chance = random.nextInt(100_000);
      if (chance < 2) {
        everything(worker, chance == 0);
      } else {
        change(worker, random.nextInt(size.families()), random, hashes);
      }
    }
  }

  /** Clears a worker, or puts another in its slot. */
  private void everything(int worker, boolean replace) {
    for (int family = 0; family < size.families(); family++) {
      long state = states.get(at(worker, family));
      publish(worker, family, generation(state), branch(state), 0, most(state));
    }
    if (replace) {
      index.retire(slot(worker));
      index.sweep(slot(worker));
      workers[worker] = index.open(slot(worker));
      restarts.increment();
    } else {
      workers[worker].clear();
    }
    for (int family = 0; family < size.families(); family++) {
      publish(worker, family, 0, 0, 0, 0);
    }
  }

  private void change(int worker, int family, SplittableRandom random, long[] hashes) {
    long state = states.get(at(worker, family));
    int depth = least(state);
    int branch = branch(state);
    int generation = generation(state);
    if (depth == 0) {
      generation =
          random.nextInt(8) == 0
              ? generations.updateAndGet(family, now -> (now + 1) % GENERATIONS)
              : generations.get(family);
      branch = random.nextInt(BRANCHES);
    } else if (random.nextInt(4) == 0) {
      int other = random.nextInt(BRANCHES);
      int kept = Math.min(depth, shared(branch, other));
      shrink(worker, family, generation, branch, depth, kept, hashes);
      depth = kept;
      branch = other;
    }
    int wanted = random.nextInt(6) == 0 ? 0 : random.nextInt(size.longest() + 1);
    if (wanted < depth) {
      shrink(worker, family, generation, branch, depth, wanted, hashes);
    } else if (wanted > depth) {
      publish(worker, family, generation, branch, depth, wanted);
      for (int block = depth; block < wanted; block++) {
        hashes[block - depth] = hash(family, generation, branch, block);
      }
      long parent = depth == 0 ? 0 : hash(family, generation, branch, depth - 1);
      int count = wanted - depth;
      int stored = workers[worker].store(parent, depth == 0, hashes, hashes, count, Tier.DEVICE, true);
      check(stored == count, "stored " + stored + " of " + count);
      publish(worker, family, generation, branch, wanted, wanted);
      blocks.add(count);
    }
  }

  private void shrink(
      int worker, int family, int generation, int branch, int depth, int wanted, long[] hashes) {
    int count = depth - wanted;
    if (count == 0) {
      return;
    }
    publish(worker, family, generation, branch, wanted, depth);
    for (int i = 0; i < count; i++) {
      hashes[i] = hash(family, generation, branch, depth - 1 - i);
    }
    int removed = workers[worker].remove(hashes, count, Tier.DEVICE, true);
    check(removed == count, "removed " + removed + " of " + count);
    publish(worker, family, generation, branch, wanted, wanted);
    blocks.add(count);
  }

  private int at(int worker, int family) {
    return family * size.workers() + worker;
  }

  private void publish(int worker, int family, int generation, int branch, int least, int most) {
    int at = at(worker, family);
    long number = (states.get(at) >>> NUMBER) + 1;
    states.set(
        at,
        number << NUMBER
            | (long) generation << GENERATION
            | (long) branch << BRANCH
            | (long) most << MOST
            | least);
  }

  private static int generation(long state) {
    return (int) (state >>> GENERATION) & (GENERATIONS - 1);
  }

  private static int branch(long state) {
    return (int) (state >>> BRANCH) & (BRANCHES - 1);
  }

  private static int most(long state) {
    return (int) (state >>> MOST) & DEPTH;
  }

  private static int least(long state) {
    return (int) state & DEPTH;
  }

  // Reading.

  private void read(SplittableRandom random) {
    int[] depths = new int[size.slots()];
    long[] candidates = new long[size.slots() / 64];
    Arrays.fill(candidates, -1);
    long[] before = new long[size.workers()];
    while (!stopped) {
      int family = random.nextInt(size.families());
      // Of a generation that some worker holds, most of the time.
      int generation = generation(states.get(at(random.nextInt(size.workers()), family)));
      int branch = random.nextInt(BRANCHES);
      long[] hashes = new long[1 + random.nextInt(size.longest())];
      for (int block = 0; block < hashes.length; block++) {
        hashes[block] = hash(family, generation, branch, block);
      }
      Chain chain = new Chain(hashes, 16);
      for (int worker = 0; worker < before.length; worker++) {
        before[worker] = states.get(at(worker, family));
      }
      if (random.nextInt(16) == 0) {
        index.linear(chain, candidates, depths);
      } else {
        index.search(chain, candidates, depths);
      }
      searches.increment();
      for (int worker = 0; worker < before.length; worker++) {
        judge(before[worker], states.get(at(worker, family)), generation, branch, hashes.length, depths[slot(worker)]);
      }
    }
  }

  private void judge(long before, long after, int generation, int branch, int length, int depth) {
    answers.increment();
    if ((((after >>> NUMBER) - (before >>> NUMBER)) & (-1L >>> NUMBER)) > 1) {
      open.increment();
      return;
    }
    int most = held(before, most(before), generation, branch);
    most = Math.max(most, held(after, most(after), generation, branch));
    int least = held(before, least(before), generation, branch);
    least = Math.min(least, held(after, least(after), generation, branch));
    if (depth > most || depth < Math.min(least, length)) {
      throw new AssertionError(
          "seen to hold %d blocks of a chain of %d, of which it held %d to %d".formatted(depth, length, least, most));
    }
  }

  private int held(long state, int depth, int generation, int branch) {
    return generation(state) == generation ? Math.min(depth, shared(branch(state), branch)) : 0;
  }
}
