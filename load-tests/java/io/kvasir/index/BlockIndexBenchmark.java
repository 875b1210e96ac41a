package io.kvasir.index;

import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * The parts of the index alone, in a warm cache: what a search costs by the chain's length, the number of
 * workers and how many of them drop off on the way, beside the oracle that looks every block up; and what
 * it costs to store a prompt's blocks and remove them again. {@code -prof gc} shows that none allocates.
 *
 * <pre>
 * load-tests/with-jdk org.openjdk.jmh.Main BlockIndexBenchmark -prof gc
 * </pre>
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(value = 1, jvmArgsAppend = "-Xmx1g")
public class BlockIndexBenchmark {
  @Param({"24", "94", "750"})
  int blocks;

  @Param({"16", "256"})
  int workers;

  /** How many distinct depths the workers have. */
  @Param({"1", "8"})
  int depths;

  private BlockIndex index = new BlockIndex(64, 1 << 20);
  private Chain chain = new Chain(new long[0], 16);
  private long[] candidates = new long[0];
  private int[] found = new int[0];
  private @Nullable WorkerBlocks writer;
  private long[] fresh = new long[0];

  @Setup
  public void fill() {
    int slots = workers == 256 ? 256 : 64;
    index = new BlockIndex(slots, 1L << 30);
    long[] hashes = chain(1, blocks);
    chain = new Chain(hashes, 16);
    fresh = chain(2, blocks);
    candidates = new long[slots / 64];
    found = new int[slots];
    for (int slot = 0; slot < workers; slot++) {
      WorkerBlocks worker = index.open(slot);
      candidates[slot / 64] |= 1L << slot;
      int held = blocks * (1 + slot % depths) / depths;
      worker.store(0, true, hashes, hashes, held, Tier.DEVICE, true);
      writer = worker;
    }
  }

  private static long[] chain(long seed, int length) {
    long[] chain = new long[length];
    Arrays.setAll(chain, i -> BlockHash.chained(i == 0 ? BlockHash.NONE : chain[i - 1], seed * 1_000_003 + i));
    return chain;
  }

  @Benchmark
  public int search() {
    return index.search(chain, candidates, found);
  }

  @Benchmark
  public int linear() {
    return index.linear(chain, candidates, found);
  }

  @Benchmark
  public int storeAndRemove() {
    WorkerBlocks worker = writer;
    if (worker == null) {
      throw new IllegalStateException("not set up");
    }
    worker.store(0, true, fresh, fresh, fresh.length, Tier.DEVICE, true);
    return worker.remove(fresh, fresh.length, Tier.DEVICE, true);
  }
}
