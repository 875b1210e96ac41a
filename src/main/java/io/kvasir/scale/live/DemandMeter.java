package io.kvasir.scale.live;

import io.kvasir.admission.ModelBacklog;
import io.kvasir.cell.ClusterStatus;
import io.kvasir.cell.ClusterStatus.CellStatus;
import io.kvasir.cell.UnservedDemand;
import io.kvasir.cell.WorkerStatus;
import io.kvasir.cell.WorkerStatus.Health;
import io.kvasir.routing.Role;
import io.kvasir.routing.Worker;
import io.kvasir.routing.cost.CostModel;
import io.kvasir.routing.cost.DecodeCost;
import io.kvasir.routing.cost.EngineCost;
import io.kvasir.scale.Backlog;
import io.kvasir.scale.FleetDemand;
import io.kvasir.scale.ScaleTarget;
import io.kvasir.scale.WorkerCapacity;
import io.kvasir.scale.live.BacklogMeter.ModelFigures;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SequencedMap;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/**
 * Turns descriptions of the cluster into the demand on each target. Every worker counts once, as its cell's home
 * describes it; what homes count becomes a rate between two descriptions that are not too close. Of a cell whose home
 * does not answer the last description goes on to count. What waits for a model is shared among its targets by their
 * workers. One thread.
 */
final class DemandMeter {
  /** Rates of tokens are smoothed over about so many seconds: answers end one by one. */
  private static final double SMOOTHING_SECONDS = 30;

  /** An engine of which nothing is known. */
  private static final String UNKNOWN_ENGINE = "";

  /** Requests in flight of a worker of which nothing is known. */
  private static final int UNKNOWN_IN_FLIGHT = 256;

  private final CostModel costs;
  private final Set<ScaleTarget> fromZero;
  private final double leastSeconds;

  /** The last workers of those. */
  private final Map<ScaleTarget, List<Worker>> kinds = new HashMap<>();

  private final BacklogMeter backlogs = new BacklogMeter();
  private Map<String, List<Figures>> cells = new HashMap<>();
  private double lastSeconds = Double.NEGATIVE_INFINITY;

  /**
   * Has measured nothing yet.
   *
   * @param fromZero targets that there are without a worker, too
   * @param leastSeconds between two descriptions of which rates are made: within less a single prompt is a storm
   */
  DemandMeter(CostModel costs, Set<ScaleTarget> fromZero, double leastSeconds) {
    this.costs = costs;
    this.fromZero = fromZero;
    this.leastSeconds = leastSeconds;
  }

  /** A demand, and what one worker can do. */
  record Measured(FleetDemand demand, WorkerCapacity capacity) {}

  /**
   * A worker with its rates per second.
   *
   * @param counted what its home had counted when these rates were made
   * @param prefillRate seconds of prefill
   * @param smoothPrefillRate the same, smoothed as answers are
   * @param answerRate answers, smoothed
   */
  private record Figures(
      WorkerStatus status, WorkerStatus.Work counted, double prefillRate, double smoothPrefillRate, double answerRate) {
    double answerTokens() {
      return status.load().work().answerTokens();
    }
  }

  /** The demand on each target, in order of model and role. Rates stay as they were where it is too soon for others. */
  SequencedMap<ScaleTarget, Measured> measure(double seconds, ClusterStatus cluster, UnservedDemand unserved) {
    double elapsed = seconds - lastSeconds;
    if (elapsed < leastSeconds) {
      elapsed = Double.NaN;
    } else {
      lastSeconds = seconds;
    }
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
    Map<String, String> baseModels = new HashMap<>();
    cells.values().forEach(cell -> cell.forEach(each -> {
      Worker worker = each.status().worker();
      worker.models().forEach(model -> baseModels.putIfAbsent(model, worker.deployment().model()));
    }));
    return byTarget(
        backlogs.measure(elapsed, cluster, unserved, model -> baseModels.getOrDefault(model, model)));
  }

  private static Figures figures(WorkerStatus now, @Nullable Figures before, double elapsed) {
    WorkerStatus.Work work = now.load().work();
    if (before == null) {
      return new Figures(now, work, 0, 0, 0);
    }
    WorkerStatus.Work then = before.counted();
    if (Double.isNaN(elapsed)) {
      return new Figures(now, then, before.prefillRate(), before.smoothPrefillRate(), before.answerRate());
    }
    // A home that is new to the cell counts from 0.
    double booked = Math.max(0, work.bookedMs() - then.bookedMs()) / 1e3 / elapsed;
    double answers = Math.max(0, work.answers() - then.answers()) / elapsed;
    double smoothing = 1 - Math.exp(-elapsed / SMOOTHING_SECONDS);
    return new Figures(
        now, work, booked, smooth(before.smoothPrefillRate(), booked, smoothing),
        smooth(before.answerRate(), answers, smoothing));
  }

  private static double smooth(double before, double now, double smoothing) {
    return before + smoothing * (now - before);
  }

  private SequencedMap<ScaleTarget, Measured> byTarget(Map<String, ModelFigures> backlog) {
    SequencedMap<ScaleTarget, List<Figures>> targets =
        new TreeMap<>(Comparator.comparing(ScaleTarget::model).thenComparing(ScaleTarget::role));
    fromZero.forEach(target -> targets.put(target, new ArrayList<>()));
    cells.values().forEach(cell -> cell.forEach(figures -> {
      Worker worker = figures.status().worker();
      targets
          .computeIfAbsent(new ScaleTarget(worker.deployment().model(), worker.role()), _ -> new ArrayList<>())
          .add(figures);
    }));
    SequencedMap<ScaleTarget, Measured> measured = new TreeMap<>(((TreeMap<ScaleTarget, ?>) targets).comparator());
    targets.forEach((target, workers) -> {
      ModelFigures waiting = backlog.get(target.model());
      measured.put(
          target, measured(target, workers, waiting, waiting == null ? 0 : share(target, targets)));
    });
    return measured;
  }

  /** The share of a target's workers among those of its model that do the same. */
  private static double share(ScaleTarget target, Map<ScaleTarget, List<Figures>> targets) {
    Role same = target.role() == Role.DECODE ? Role.DECODE : Role.PREFILL;
    int all = 0;
    int like = 0;
    for (Map.Entry<ScaleTarget, List<Figures>> each : targets.entrySet()) {
      if (each.getKey().model().equals(target.model()) && each.getKey().role().takes(same)) {
        like++;
        all += each.getValue().size();
      }
    }
    return all == 0 ? 1.0 / like : (double) Objects.requireNonNull(targets.get(target)).size() / all;
  }

  private Backlog backlog(
      Role role, List<Worker> workers, ModelFigures figures, double share, double secondsPerPrompt) {
    ModelBacklog waiting = figures.waiting();
    int requests = (int) Math.ceil(share * waiting.requests());
    double memory = share * waiting.heldTokens() / mean(workers, engine -> costs.decode(engine).kvTokens());
    double refused = share * figures.refusedPerSecond();
    if (!role.takes(Role.PREFILL)) {
      return new Backlog(
          requests, Math.round(share * waiting.promptTokens()), 0, 0, memory, waiting.oldestMillis() / 1e3, refused);
    }
    double perToken = workers.stream()
            .mapToDouble(worker -> secondsPerToken(costs.of(worker.deployment()), figures.typical()))
            .average()
            .orElseGet(() -> secondsPerToken(costs.of(UNKNOWN_ENGINE), figures.typical()));
    double more = share * figures.moreTokensPerSecond() * perToken;
    return new Backlog(
        requests, Math.round(share * waiting.promptTokens()), share * waiting.tokens() * perToken,
        more + refused * secondsPerPrompt, memory, waiting.oldestMillis() / 1e3, refused);
  }

  /** Of a mean request among these. */
  private static double secondsPerToken(EngineCost cost, ModelBacklog typical) {
    if (typical.tokens() == 0) {
      return cost.msPerToken() / 1e3;
    }
    int prompt = (int) (typical.promptTokens() / typical.requests());
    int uncached = Math.clamp(typical.tokens() / typical.requests(), 1, Math.max(1, prompt));
    return cost.prefillMs(uncached, prompt) / uncached / 1e3;
  }

  private Measured measured(
      ScaleTarget target, List<Figures> workers, @Nullable ModelFigures waiting, double share) {
    List<Worker> like = like(target, workers);
    List<Figures> ready = workers.stream().filter(worker -> isReady(worker.status())).toList();
    double answers = sum(workers, Figures::answerRate);
    double tokens = sum(workers, worker -> worker.answerRate() * worker.answerTokens());
    double secondsPerPrompt = answers > 0 ? sum(workers, Figures::smoothPrefillRate) / answers : 0;
    FleetDemand demand =
        new FleetDemand(
            (int) workers.stream().filter(worker -> !worker.status().draining()).count(),
            ready.size(),
            sum(workers, Figures::prefillRate),
            secondsPerPrompt,
            sum(workers, worker -> worker.status().load().work().owedMs()) / 1e3,
            (int) sum(workers, worker -> worker.status().load().inFlight()),
            (long) sum(workers, worker -> worker.status().load().work().contextTokens()),
            sum(workers, worker -> memoryUse(worker.status())),
            answers > 0 ? tokens / answers : 0,
            tokens,
            (int) sum(workers, worker -> Math.max(0, worker.status().load().report().waiting())),
            ready.stream().mapToDouble(worker -> worker.status().load().work().owedMs()).min().orElse(0) / 1e3,
            waiting == null ? Backlog.NONE : backlog(target.role(), like, waiting, share, secondsPerPrompt));
    return new Measured(demand, capacity(like));
  }

  /** A target's workers, or the last ones where it has none. */
  private List<Worker> like(ScaleTarget target, List<Figures> workers) {
    List<Worker> now = workers.stream().map(each -> each.status().worker()).toList();
    if (!now.isEmpty() && fromZero.contains(target)) {
      kinds.put(target, now);
    }
    return now.isEmpty() ? kinds.getOrDefault(target, List.of()) : now;
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
  private WorkerCapacity capacity(List<Worker> workers) {
    return new WorkerCapacity(
        new DecodeCost(
            mean(workers, engine -> costs.decode(engine).stepMs()),
            mean(workers, engine -> costs.decode(engine).msPerSequence()),
            mean(workers, engine -> costs.decode(engine).msPerContextToken()),
            mean(workers, engine -> costs.decode(engine).kvTokens())),
        (int) Math.max(1, workers.stream().mapToInt(Worker::maxInFlight).average().orElse(UNKNOWN_IN_FLIGHT)));
  }

  private static double mean(List<Worker> workers, ToDoubleFunction<String> figureOfEngine) {
    return workers.stream()
        .mapToDouble(worker -> figureOfEngine.applyAsDouble(worker.engine()))
        .average()
        .orElseGet(() -> figureOfEngine.applyAsDouble(UNKNOWN_ENGINE));
  }

  private static double sum(List<Figures> workers, ToDoubleFunction<Figures> figure) {
    return workers.stream().mapToDouble(figure).sum();
  }
}
