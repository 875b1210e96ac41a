package io.kvasir.cell.home;

import io.kvasir.cell.CellSettings;
import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.Outcome;
import io.kvasir.cell.PodSpec;
import io.kvasir.cell.TestPods;
import io.kvasir.cell.TestSettings;
import io.kvasir.cell.client.CellChoice;
import io.kvasir.cell.client.CellChoiceBenchmark;
import io.kvasir.cell.client.CellReports;
import io.kvasir.cell.view.CellMetrics;
import io.kvasir.cell.worker.Member;
import io.kvasir.events.EventFeed;
import io.kvasir.index.BlockHash;
import io.kvasir.index.Chain;
import io.kvasir.index.Tier;
import io.kvasir.routing.Booking;
import io.kvasir.routing.PreparedSlots;
import io.kvasir.routing.RequestShape;
import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.net.URI;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Threads;
import org.openjdk.jmh.annotations.Warmup;

/**
 * A whole decision, as an HTTP thread makes it: choice of the model's cell, and there search of the real index,
 * filters, scores, pick, booking, prediction, and the end of the request, which gives all of it back. 24-block prompts
 * that begin alike; of each a few workers hold all that is known. With {@code known = 24} nothing has to be predicted;
 * with 20 the last four blocks are new each time, as a conversation's next turn is.
 *
 * <p>Baseline in the same run: the same formula over one map from block to workers, block by block, under a lock, as
 * a single serial actor would do it.
 *
 * <p>Budget: p50 at most 4 µs, p99 at most 10 µs at 256 workers; what is allocated does not grow with the workers;
 * what is spent is the same within a tenth from 1 to 1,000 cells, of which one is there and stands for all.
 *
 * <pre>
 * load-tests/with-jdk -Xmx2g org.openjdk.jmh.Main DecisionBenchmark -t 1 -prof gc
 * load-tests/with-jdk -Xmx2g org.openjdk.jmh.Main DecisionBenchmark -t 2 -p workers=256
 * load-tests/with-jdk -Xmx2g org.openjdk.jmh.Main DecisionBenchmark.decide -p workers=256 -p cells=1,10,100,1000
 * load-tests/with-jdk -Xmx2g org.openjdk.jmh.Main DecisionBenchmark -bm thrpt -tu ms -t 1 -p workers=256
 * load-tests/with-jdk -Xmx2g org.openjdk.jmh.Main DecisionBenchmark -bm thrpt -tu ms -t 2 -p workers=256
 * </pre>
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 3, time = 3)
@Threads(1)
@Fork(value = 1, jvmArgsAppend = {"-Xmx1g", "-XX:+UseCompactObjectHeaders"})
public class DecisionBenchmark {
  private static final int BLOCK = 16;
  private static final int BLOCKS = 24;
  private static final int COMMON = 4;
  private static final int PROMPTS = 1024;
  private static final int HOLDERS = 3;
  private static final String ENGINE = "h100-Qwen2.5-7B-tp1";

  /** Workers in the cell. */
  @Param({"64", "256"})
  public int workers;

  /** Blocks of each prompt that some workers hold. */
  @Param({"24", "20"})
  public int known;

  /** Cells of the model. */
  @Param("1")
  public int cells;

  private final Chain[] prompts = new Chain[PROMPTS];
  private final Map<Long, BitSet> serialIndex = new HashMap<>();
  private int[] serialInFlight = new int[0];
  private @Nullable Members members;
  private final CellReports gauges = new CellReports();
  private @Nullable CellChoice choice;

  /** Seats the workers and fills their caches. */
  @Setup
  public void fill() {
    Members cell = members();
    members = cell;
    choice =
        new CellChoice(
            CellChoiceBenchmark.ranking(cells), gauges, new CellMetrics(new Metrics(new PrometheusRegistry())));
    for (int i = 0; i < workers; i++) {
      PodSpec pod =
          TestPods.pod("w" + i)
              .url(URI.create("http://w" + i))
              .blockSize(BLOCK)
              .maxInFlight(1 << 20)
              .engine(ENGINE)
              .capacityBlocks(10_000)
              .events(List.of(new EventFeed.Push("")))
              .build();
      var _ = TestCell.admit(cell, pod);
    }
    SplittableRandom random = new SplittableRandom(1);
    List<Member> all = new ArrayList<>(cell.all());
    for (int p = 0; p < PROMPTS; p++) {
      long[] hashes = new long[BLOCKS];
      for (int i = 0; i < BLOCKS; i++) {
        hashes[i] =
            BlockHash.chained(i == 0 ? BlockHash.NONE : hashes[i - 1], i < COMMON ? i + 1 : p * 1000L + i);
      }
      prompts[p] = new Chain(hashes, BLOCK);
      long[] held = Arrays.copyOf(hashes, known);
      for (int holder = 0; holder < HOLDERS; holder++) {
        int slot = random.nextInt(workers);
        all.get(slot).cache().blocks().store(0, true, held, held, known, Tier.DEVICE, false);
        for (long hash : held) {
          serialIndex.computeIfAbsent(hash, _ -> new BitSet()).set(slot);
        }
      }
    }
    // Load that differs: requests that stay.
    serialInFlight = new int[workers];
    for (int i = 0; i < workers; i++) {
      for (int booked = random.nextInt(8); booked > 0; booked--) {
        all.get(i).load().book(new Booking(2000, 500, 10_000));
        serialInFlight[i]++;
      }
    }
  }

  /** Every home has just reported its pressure. */
  @Setup(Level.Iteration)
  public void tell() {
    CellChoiceBenchmark.tell(gauges, CellChoiceBenchmark.cells(cells));
  }

  private Members members() {
    CellSettings.IndexSettings index =
        new CellSettings.IndexSettings(workers, TestSettings.CELL.index().maxWorkers(), 1 << 28);
    return new Members(
        "m",
        TestServices.deciding("expected-cost").settings(TestSettings.with(index)).clock(System::nanoTime).build());
  }

  /** The next prompt, its unknown end new. */
  private Chain prompt() {
    ThreadLocalRandom random = ThreadLocalRandom.current();
    Chain prompt = prompts[random.nextInt(PROMPTS)];
    if (known == BLOCKS) {
      return prompt;
    }
    long[] hashes = prompt.hashes().clone();
    for (int i = known; i < BLOCKS; i++) {
      hashes[i] = BlockHash.chained(hashes[i - 1], random.nextLong());
    }
    return new Chain(hashes, BLOCK);
  }

  /** Decides, and gives it back. */
  @Benchmark
  public Decision decide() {
    Members cell = Objects.requireNonNull(members);
    DecisionRequest request =
        new DecisionRequest(
            "request", "m", null, RequestShape.TEXT, new DecisionRequest.Prompt(prompt(), BLOCKS * BLOCK + 5),
            PreparedSlots.EMPTY, true, DecisionRequest.Constraints.NONE);
    Decision decision =
        Objects.requireNonNull(choice).decide(request, System.nanoTime(), _ -> cell.view().decide(request));
    if (decision instanceof Decision.Planned planned) {
      planned.close(new Outcome.Cancelled());
    }
    return decision;
  }

  /** The same by a map and under a lock. */
  @Benchmark
  public synchronized int serial() {
    Chain prompt = prompt();
    int[] depth = new int[workers];
    for (int i = 0; i < BLOCKS; i++) {
      BitSet holders = serialIndex.get(prompt.hashes()[i]);
      if (holders == null) {
        break;
      }
      for (int slot = holders.nextSetBit(0); slot >= 0; slot = holders.nextSetBit(slot + 1)) {
        depth[slot] += depth[slot] == i ? 1 : 0;
      }
    }
    int best = 0;
    double least = Double.MAX_VALUE;
    for (int slot = 0; slot < workers; slot++) {
      double uncached = BLOCKS * BLOCK + 5 - depth[slot] * BLOCK;
      double cost =
          serialInFlight[slot] * 10 + uncached * 0.02 * (3 + 0.3 * serialInFlight[slot]) + serialInFlight[slot] * 4;
      if (cost < least) {
        least = cost;
        best = slot;
      }
    }
    serialInFlight[best]++;
    serialInFlight[best]--;
    return best;
  }
}
