package io.kvasir.cell.client;

import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.directory.Placement;
import io.kvasir.cell.view.CellMetrics;
import io.kvasir.cell.view.CellPressure;
import io.kvasir.index.Chain;
import io.kvasir.routing.PreparedSlots;
import io.kvasir.routing.RequestShape;
import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
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
 * Choosing the cell of a request, from its prompt's chain to the cell's name, with pressure that is known and differs.
 * A hundred thousand prompts, so that neither they nor what is remembered of the cells' order stay in the nearest
 * cache.
 * {@link #linear} looks at every cell, as rendezvous hashing does by itself.
 *
 * <p>Budget: some tens of nanoseconds, so that a whole decision ({@code DecisionBenchmark}) costs the same.
 *
 * <pre>
 * load-tests/with-jdk org.openjdk.jmh.Main CellChoiceBenchmark -prof gc
 * load-tests/with-jdk -Xmx2g io.kvasir.cell.client.CellChoiceBenchmark        memory
 * </pre>
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 30, time = 200, timeUnit = TimeUnit.MILLISECONDS)
@Threads(1)
@Fork(value = 1, jvmArgsAppend = "-Xmx1g")
public class CellChoiceBenchmark {
  private static final int PROMPTS = 1 << 17;
  private static final int WORKERS = 256;

  /** Cells of the model. */
  @Param({"1", "10", "100", "1000"})
  public int cells;

  private final DecisionRequest[] requests = new DecisionRequest[PROMPTS];
  private final CellReports gauges = new CellReports();
  private @Nullable CellRanking ranking;
  private @Nullable CellRanking forgetful;
  private @Nullable CellChoice choice;
  private int next;

  /** The cells and the requests. */
  @Setup
  public void fill() {
    ranking = ranking(cells);
    forgetful = new CellRanking(cells(cells), null);
    choice = new CellChoice(ranking, gauges, new CellMetrics(new Metrics(new PrometheusRegistry())));
    SplittableRandom random = new SplittableRandom(1);
    for (int i = 0; i < PROMPTS; i++) {
      Chain chain = new Chain(random.longs(2).toArray(), 512);
      requests[i] =
          new DecisionRequest(
              "r", "m", null, RequestShape.TEXT, new DecisionRequest.Prompt(chain, 1024),
              PreparedSlots.EMPTY, true, DecisionRequest.Constraints.NONE);
    }
    // What is remembered is there.
    for (DecisionRequest request : requests) {
      ranking.order(AffinityKey.of(request));
    }
  }

  /** Every home has just reported its pressure. */
  @Setup(Level.Iteration)
  public void tell() {
    tell(gauges, cells(cells));
  }

  public static void tell(CellReports gauges, CellRanking.WeightedCells cells) {
    SplittableRandom random = new SplittableRandom(2);
    for (String cell : cells.names()) {
      gauges.gauge(cell).update(new CellPressure(0.3 + 0.1 * random.nextDouble(), WORKERS * 256), System.nanoTime());
    }
  }

  public static CellRanking ranking(int count) {
    return new CellRanking(cells(count), count == 1 ? null : new long[CellRanking.BUCKETS]);
  }

  public static CellRanking.WeightedCells cells(int count) {
    Map<String, Integer> workers = new LinkedHashMap<>();
    for (int cell = 1; cell <= count; cell++) {
      workers.put(Placement.cell("m", cell), WORKERS);
    }
    return CellRanking.WeightedCells.of(workers);
  }

  private DecisionRequest request() {
    next = (next + 1) & (PROMPTS - 1);
    return requests[next];
  }

  /** As it is done for every request. */
  @Benchmark
  public String choose() {
    int cell = Objects.requireNonNull(choice).choose(AffinityKey.of(request()), System.nanoTime());
    return Objects.requireNonNull(ranking).name(cell);
  }

  /** Computing the order again. */
  @Benchmark
  public long linear() {
    return Objects.requireNonNull(forgetful).order(AffinityKey.of(request()));
  }

  /** Prints what a node remembers of so many cells of a model, with their pressure. */
  public static void main(String[] args) {
    used();
    for (int count : new int[] {10, 100, 1000}) {
      CellRanking.WeightedCells these = cells(count);
      CellMetrics metrics = new CellMetrics(new Metrics(new PrometheusRegistry()));
      long before = used();
      CellReports gauges = new CellReports();
      CellRanking ranking = new CellRanking(these, new long[CellRanking.BUCKETS]);
      CellChoice choice = new CellChoice(ranking, gauges, metrics);
      these.names().forEach(cell -> gauges.gauge(cell).update(new CellPressure(0.5, 1), 1));
      long after = used();
      System.out.printf("%5d cells: %d KiB%n", choice.choose(1, 2) < 0 ? -1 : count, (after - before) / 1024);
    }
  }

  private static long used() {
    for (int i = 0; i < 5; i++) {
      System.gc();
    }
    return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
  }
}
