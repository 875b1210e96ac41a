package io.kvasir.routing;

import com.typesafe.config.ConfigFactory;
import io.kvasir.index.Chain;
import io.kvasir.routing.Selection.Chosen;
import io.kvasir.routing.cost.CostModel;
import io.kvasir.routing.cost.OutputLengths;
import io.kvasir.routing.plugins.BuiltInPlugins;
import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.net.URI;
import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.stream.LongStream;
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
 * A whole decision over a cell, but for the index: context, snapshot of the load, filters, scores, pick, booking,
 * reason. The fleet is a stub that copies its columns and books by compare-and-set; what a search of the real
 * index takes comes on top. Budget with it: 5 µs p50 at 256 workers and 24 blocks.
 *
 * <pre>
 * load-tests/with-jdk org.openjdk.jmh.Main SelectorBenchmark -prof gc
 * </pre>
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 3, time = 3)
@Fork(value = 1, jvmArgsAppend = "-Xmx512m")
public class SelectorBenchmark {
  @Param({"64", "256"})
  int workers;

  @Param({"expected-cost", "prefix-aware", "least-loaded", "round-robin", "random"})
  String profile = "";

  private @Nullable Selector selector;
  private @Nullable StubFleet fleet;
  private final Chain chain = new Chain(LongStream.rangeClosed(1, 24).toArray(), 16);

  @Setup
  public void wire() {
    CostModel costs = CostModel.bundled();
    Profile compiled =
        new ProfileCompiler(BuiltInPlugins.registry(costs, new OutputLengths()))
            .compile(ConfigFactory.empty())
            .get(profile);
    if (compiled == null) {
      throw new IllegalArgumentException(profile);
    }
    RoutingMetrics metrics = new RoutingMetrics(new Metrics(new PrometheusRegistry()));
    selector = new Selector(compiled, costs, new SplittableRandom(1), metrics, System::nanoTime);
    fleet = new StubFleet(workers);
  }

  @Benchmark
  public @Nullable String decide() {
    if (selector == null || fleet == null) {
      throw new IllegalStateException("not wired");
    }
    RoutingContext context =
        new RoutingContext("request", "m", Role.BOTH, Set.of())
            .put(Slots.PROMPT_TOKENS, 389)
            .put(Slots.CHAIN, chain);
    if (selector.select(fleet, context) instanceof Chosen chosen) {
      fleet.release(chosen.slot());
      return chosen.reason();
    }
    return null;
  }

  /** A tenth of the workers hold part of the prompt, all hold a common start, and load differs. */
  private static final class StubFleet implements Fleet {
    private final Worker[] table;
    private final int[] depth;
    private final AtomicIntegerArray booked;
    private final long[] pendingTokens;
    private final double[] queueMs;
    private final long[] contextTokens;

    StubFleet(int workers) {
      SplittableRandom random = new SplittableRandom(2);
      table = new Worker[workers];
      depth = new int[workers];
      booked = new AtomicIntegerArray(workers);
      pendingTokens = new long[workers];
      queueMs = new double[workers];
      contextTokens = new long[workers];
      for (int slot = 0; slot < workers; slot++) {
        URI url = URI.create("http://10.0.0." + slot);
        table[slot] =
            new Worker(
                "w" + slot, "w" + slot, url, 0, 1, slot, Role.BOTH, Set.of("m"), Map.of(), 64, "h100-Qwen2.5-7B-tp1",
                null);
        depth[slot] = random.nextInt(10) == 0 ? random.nextInt(4, 24) : 4;
        booked.set(slot, random.nextInt(20));
        pendingTokens[slot] = random.nextLong(20_000);
        queueMs[slot] = random.nextDouble(400);
        contextTokens[slot] = random.nextLong(200_000);
      }
    }

    @Override
    public int slots() {
      return table.length;
    }

    @Override
    public void snapshot(Candidates candidates) {
      candidates.workers = table;
      Arrays.fill(candidates.live, -1L);
      for (int slot = 0; slot < table.length; slot++) {
        candidates.inFlight[slot] = booked.getOpaque(slot);
      }
      System.arraycopy(pendingTokens, 0, candidates.pendingTokens, 0, table.length);
      System.arraycopy(queueMs, 0, candidates.queueMs, 0, table.length);
      System.arraycopy(contextTokens, 0, candidates.contextTokens, 0, table.length);
    }

    @Override
    public void search(Chain prompt, Candidates candidates) {
      System.arraycopy(depth, 0, candidates.depth, 0, table.length);
    }

    @Override
    public void cancel(int slot, Booking booking) {
      booked.decrementAndGet(slot);
    }

    @Override
    public boolean reserve(int slot, Booking booking) {
      int before;
      do {
        before = booked.get(slot);
        if (before >= table[slot].maxInFlight()) {
          return false;
        }
      } while (!booked.compareAndSet(slot, before, before + 1));
      return true;
    }

    void release(int slot) {
      booked.decrementAndGet(slot);
    }
  }
}
