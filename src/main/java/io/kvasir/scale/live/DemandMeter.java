package io.kvasir.scale.live;

import io.kvasir.cell.ClusterStatus;
import io.kvasir.cell.ClusterStatus.CellStatus;
import io.kvasir.cell.WorkerStatus;
import io.kvasir.cell.WorkerStatus.Health;
import io.kvasir.routing.cost.CostModel;
import io.kvasir.routing.cost.DecodeCost;
import io.kvasir.scale.FleetDemand;
import io.kvasir.scale.ScaleTarget;
import io.kvasir.scale.WorkerCapacity;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.TreeMap;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/**
 * Turns descriptions of the cluster into the demand on each target. Every worker counts once, as its cell's home
 * describes it; what homes count becomes a rate between two descriptions. Of a cell whose home does not answer the last
 * description goes on to count. One thread.
 */
final class DemandMeter {
  /** Rates of tokens are smoothed over about so many seconds: answers end one by one. */
  private static final double SMOOTHING_SECONDS = 30;

  private final CostModel costs;
  private Map<String, List<Figures>> cells = new HashMap<>();
  private double lastSeconds = Double.NaN;

  DemandMeter(CostModel costs) {
    this.costs = costs;
  }

  /** A demand, and what one worker can do. */
  record Measured(FleetDemand demand, WorkerCapacity capacity) {}

  /**
   * A worker with its rates per second.
   *
   * @param prefillRate seconds of prefill
   * @param smoothPrefillRate the same, smoothed as answers are
   * @param answerRate answers, smoothed
   */
  private record Figures(WorkerStatus status, double prefillRate, double smoothPrefillRate, double answerRate) {
    double answerTokens() {
      return status.load().work().answerTokens();
    }
  }

  /** The demand on each target, in order of model and role. */
  SequencedMap<ScaleTarget, Measured> measure(double seconds, ClusterStatus cluster) {
    double elapsed = seconds - lastSeconds;
    lastSeconds = seconds;
    Map<String, Figures> before = new HashMap<>();
    cells.values().forEach(cell -> cell.forEach(worker -> before.put(worker.status().worker().id(), worker)));
    Map<String, List<Figures>> now = new HashMap<>();
    for (CellStatus cell : cluster.cells()) {
      now.put(cell.name(), cell.home() == null ? cells.getOrDefault(cell.name(), List.of()) : new ArrayList<>());
    }
    for (WorkerStatus worker : cluster.workers()) {
      List<Figures> cell = now.get(worker.cell());
      if (cell != null) {
        cell.add(figures(worker, before.get(worker.worker().id()), elapsed));
      }
    }
    cells = now;
    return byTarget();
  }

  private static Figures figures(WorkerStatus now, @Nullable Figures before, double elapsed) {
    if (before == null || !(elapsed > 0)) {
      return new Figures(now, 0, 0, 0);
    }
    WorkerStatus.Work work = now.load().work();
    WorkerStatus.Work then = before.status().load().work();
    // A home that is new to the cell counts from 0.
    double booked = Math.max(0, work.bookedMs() - then.bookedMs()) / 1e3 / elapsed;
    double answers = Math.max(0, work.answers() - then.answers()) / elapsed;
    double smoothing = 1 - Math.exp(-elapsed / SMOOTHING_SECONDS);
    return new Figures(
        now, booked, smooth(before.smoothPrefillRate(), booked, smoothing),
        smooth(before.answerRate(), answers, smoothing));
  }

  private static double smooth(double before, double now, double smoothing) {
    return before + smoothing * (now - before);
  }

  private SequencedMap<ScaleTarget, Measured> byTarget() {
    SequencedMap<ScaleTarget, List<Figures>> targets =
        new TreeMap<>(Comparator.comparing(ScaleTarget::model).thenComparing(ScaleTarget::role));
    cells.values().forEach(cell -> cell.forEach(figures -> {
      var worker = figures.status().worker();
      targets
          .computeIfAbsent(new ScaleTarget(worker.deployment().model(), worker.role()), _ -> new ArrayList<>())
          .add(figures);
    }));
    SequencedMap<ScaleTarget, Measured> measured = new TreeMap<>(((TreeMap<ScaleTarget, ?>) targets).comparator());
    targets.forEach((target, workers) -> measured.put(target, measured(workers)));
    return measured;
  }

  private Measured measured(List<Figures> workers) {
    List<Figures> ready = workers.stream().filter(worker -> isReady(worker.status())).toList();
    double answers = sum(workers, Figures::answerRate);
    double tokens = sum(workers, worker -> worker.answerRate() * worker.answerTokens());
    FleetDemand demand =
        new FleetDemand(
            (int) workers.stream().filter(worker -> !worker.status().draining()).count(),
            ready.size(),
            sum(workers, Figures::prefillRate),
            answers > 0 ? sum(workers, Figures::smoothPrefillRate) / answers : 0,
            sum(workers, worker -> worker.status().load().work().owedMs()) / 1e3,
            (int) sum(workers, worker -> worker.status().load().inFlight()),
            (long) sum(workers, worker -> worker.status().load().work().contextTokens()),
            sum(workers, worker -> memoryUse(worker.status())),
            answers > 0 ? tokens / answers : 0,
            tokens,
            (int) sum(workers, worker -> Math.max(0, worker.status().load().report().waiting())),
            ready.stream().mapToDouble(worker -> worker.status().load().work().owedMs()).min().orElse(0) / 1e3);
    return new Measured(demand, capacity(workers));
  }

  private static boolean isReady(WorkerStatus worker) {
    return worker.health() == Health.HEALTHY && !worker.draining();
  }

  /** As the engine reports it; else what is known of the requests that it has. */
  private double memoryUse(WorkerStatus worker) {
    double reported = worker.load().report().kvUse();
    if (reported >= 0) {
      return reported;
    }
    WorkerStatus.Work work = worker.load().work();
    // Answers are half done on average.
    double tokens = work.contextTokens() + worker.load().inFlight() * work.answerTokens() / 2;
    return tokens / decode(worker).kvTokens();
  }

  private DecodeCost decode(WorkerStatus worker) {
    return costs.decode(worker.worker().engine());
  }

  /** The mean worker of a mixed fleet. */
  private WorkerCapacity capacity(List<Figures> workers) {
    return new WorkerCapacity(
        new DecodeCost(
            mean(workers, worker -> decode(worker).stepMs()),
            mean(workers, worker -> decode(worker).msPerSequence()),
            mean(workers, worker -> decode(worker).msPerContextToken()),
            mean(workers, worker -> decode(worker).kvTokens())),
        (int) Math.max(1, mean(workers, worker -> worker.worker().maxInFlight())));
  }

  private static double mean(List<Figures> workers, ToDoubleFunction<WorkerStatus> figure) {
    return sum(workers, worker -> figure.applyAsDouble(worker.status())) / workers.size();
  }

  private static double sum(List<Figures> workers, ToDoubleFunction<Figures> figure) {
    return workers.stream().mapToDouble(figure).sum();
  }
}
