package io.kvasir.load;

import io.kvasir.index.BlockIndex;
import io.kvasir.index.Chain;
import io.kvasir.index.Tier;
import io.kvasir.index.WorkerBlocks;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.HdrHistogram.Histogram;

/**
 * {@code java -Xmx2g -cp "target/classes:target/test-classes:$(mvn -q -o dependency:build-classpath
 * -Dmdep.outputFile=/dev/stdout)" io.kvasir.load.IndexReplay trace=mooncake_conversation_trace.jsonl.gz split=4
 * workers=16 capacity=16384 copies=2 rounds=6 writers=1 slots=64}
 *
 * <p>Replays a trace through the index: event threads apply what the workers' caches store and evict, as
 * fast as they can, while one thread looks chains up. A line per round: block writes a second (of wall
 * clock, and of the event threads' CPU time, which is what counts on a busy machine), look-ups in
 * nanoseconds, clock included, bytes per (worker, block) pair, and answers that were not those of the caches. {@code pace=N} holds the event
 * threads to N million blocks a second together; {@code ask=next} looks up the 64 requests to come instead
 * of the 4,096 before.
 */
public final class IndexReplay {
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

  private final List<IndexTrace.Request> requests;
  private final int workers;
  private final int slots;
  private final boolean recent;

  private IndexReplay(List<IndexTrace.Request> requests, int workers, int slots, boolean recent) {
    this.requests = requests;
    this.workers = workers;
    this.slots = slots;
    this.recent = recent;
  }

  /** Runs the replay. */
  public static void main(String[] args) throws Exception {
    Map<String, String> options = new TreeMap<>();
    for (String arg : args) {
      options.put(arg.substring(0, arg.indexOf('=')), arg.substring(arg.indexOf('=') + 1));
    }
    int workers = Integer.parseInt(options.getOrDefault("workers", "16"));
    List<IndexTrace.Request> requests =
        IndexTrace.load(
            Path.of(options.getOrDefault("trace", "mooncake_conversation_trace.jsonl.gz")),
            Integer.parseInt(options.getOrDefault("split", "4")),
            workers,
            Integer.parseInt(options.getOrDefault("capacity", "16384")),
            Integer.parseInt(options.getOrDefault("copies", "2")));
    IndexReplay replay =
        new IndexReplay(
            requests,
            workers,
            Integer.parseInt(options.getOrDefault("slots", "64")),
            options.getOrDefault("ask", "recent").equals("recent"));
    int writers = Integer.parseInt(options.getOrDefault("writers", "1"));
    double pace = Double.parseDouble(options.getOrDefault("pace", "0"));
    System.out.println("mismatches " + replay.mismatches());
    for (int round = 0; round < Integer.parseInt(options.getOrDefault("rounds", "6")); round++) {
      replay.round(writers, pace);
    }
  }

  private WorkerBlocks[] open(BlockIndex index) {
    WorkerBlocks[] all = new WorkerBlocks[workers];
    for (int i = 0; i < workers; i++) {
      all[i] = index.open(i);
    }
    return all;
  }

  private static int apply(WorkerBlocks[] blocks, IndexTrace.Request request) {
    WorkerBlocks worker = blocks[request.worker()];
    int evicted = request.evicted().length;
    worker.remove(request.evicted(), evicted, Tier.DEVICE, true);
    int held = request.held();
    int stored = 0;
    if (request.keys().length > 0) {
      long parent = held == 0 ? 0 : IndexTrace.key(request.chain()[held - 1]);
      stored =
          worker.store(
              parent, held == 0, request.keys(), request.hashes(), request.keys().length, Tier.DEVICE, true);
    }
    return evicted + stored;
  }

  private int mismatches() {
    BlockIndex index = new BlockIndex(slots, 4L << 30);
    WorkerBlocks[] blocks = open(index);
    long[] candidates = candidates();
    int[] depths = new int[slots];
    int wrong = 0;
    for (IndexTrace.Request request : requests) {
      index.search(new Chain(request.chain(), 16), candidates, depths);
      if (IndexTrace.checksum(depths, workers) != request.depths()) {
        wrong++;
      }
      apply(blocks, request);
    }
    return wrong;
  }

  private long[] candidates() {
    long[] candidates = new long[slots / 64];
    for (int i = 0; i < workers; i++) {
      candidates[i / 64] |= 1L << i;
    }
    return candidates;
  }

  private void round(int writers, double pace) throws InterruptedException {
    System.gc();
    BlockIndex index = new BlockIndex(slots, 4L << 30);
    WorkerBlocks[] blocks = open(index);
    AtomicInteger progress = new AtomicInteger();
    AtomicLong written = new AtomicLong();
    AtomicLong cpu = new AtomicLong();
    AtomicBoolean done = new AtomicBoolean();
    Histogram lookups = new Histogram(1_000_000_000L, 3);
    Thread reader = Thread.ofPlatform().start(() -> read(index, progress, done, lookups));
    List<Thread> threads = new ArrayList<>();
    long begin = System.nanoTime();
    for (int w = 0; w < writers; w++) {
      int share = w;
      threads.add(
          Thread.ofPlatform()
              .start(
                  () -> {
                    long before = THREADS.getCurrentThreadCpuTime();
                    written.addAndGet(write(blocks, share, writers, progress, begin, pace / writers));
                    cpu.addAndGet(THREADS.getCurrentThreadCpuTime() - before);
                  }));
    }
    for (Thread thread : threads) {
      thread.join();
    }
    long wall = System.nanoTime() - begin;
    done.set(true);
    reader.join();
    long pairs = 0;
    for (WorkerBlocks worker : blocks) {
      pairs += worker.size();
    }
    System.out.printf(
        Locale.ROOT,
        "writers %d: %.2f M blocks/s (%.2f per CPU second) of %d; lookup ns p50 %d p90 %d p99 %d p99.9 %d of %d;"
            + " %.1f bytes/pair, %d pairs, %d rows%n",
        writers,
        written.get() * 1e3 / wall,
        written.get() * 1e3 / cpu.get(),
        written.get(),
        lookups.getValueAtPercentile(50),
        lookups.getValueAtPercentile(90),
        lookups.getValueAtPercentile(99),
        lookups.getValueAtPercentile(99.9),
        lookups.getTotalCount(),
        (double) index.bytes() / pairs,
        pairs,
        index.rows());
  }

  private long write(
      WorkerBlocks[] blocks, int share, int writers, AtomicInteger progress, long begin, double pace) {
    long written = 0;
    for (int i = 0; i < requests.size(); i++) {
      IndexTrace.Request request = requests.get(i);
      if (request.worker() % writers == share) {
        written += apply(blocks, request);
        progress.lazySet(i);
        while (pace > 0 && (System.nanoTime() - begin) * pace < written * 1e3) {
          LockSupport.parkNanos(1000);
        }
      }
    }
    return written;
  }

  /** Looks up requests at random: those about to come, or those of late, most of which are held to the end. */
  private void read(BlockIndex index, AtomicInteger progress, AtomicBoolean done, Histogram lookups) {
    long[] candidates = candidates();
    int[] depths = new int[slots];
    SplittableRandom random = new SplittableRandom(1);
    while (!done.get()) {
      int from = recent ? Math.max(0, progress.get() - 4096) : progress.get();
      int to = recent ? progress.get() + 1 : Math.min(requests.size(), from + 64);
      int at = random.nextInt(from, Math.max(to, from + 1));
      // A copy: a router has just made the chain it asks for.
      Chain chain = new Chain(requests.get(at).chain().clone(), 16);
      long before = System.nanoTime();
      index.search(chain, candidates, depths);
      lookups.recordValue(System.nanoTime() - before);
    }
  }
}
