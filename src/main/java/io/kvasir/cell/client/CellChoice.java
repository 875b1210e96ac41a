package io.kvasir.cell.client;

import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.view.CellMetrics;
import io.kvasir.telemetry.DecisionRecord;
import io.kvasir.telemetry.DecisionRecord.CellOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Which cell of a model a request goes to: the one its key prefers, so that what belongs together meets, unless that is
 * full or under much more pressure than the model's cells are on the whole; then the next in the key's order. Keys
 * change their cell one after another, the same ones first each time, so that the others keep their cell. Thread-safe.
 */
public final class CellChoice {
  /** A cell beyond this share is as good as full. */
  private static final double FULL = 0.95;

  /** More pressure than this many times the mean is too much ... */
  private static final double BOUND = 1.25;

  /**
   * ... if it is so much above it, too: a prompt or two that wait are no reason to leave what is cached. Keys differ by
   * as much again in when they give way.
   */
  private static final double MIN_EXCESS = 0.15;

  private static final long MEAN_NANOS = Duration.ofMillis(100).toNanos();

  /** Cells that are tried beyond a key's order when none of that has a worker. */
  private static final int EXTRA_TRIES = 4;

  private final CellRanking ranking;
  private final PressureGauge[] gauges;
  private final CellMetrics metrics;
  private volatile @Nullable MeanPressure mean;

  /** The pressure on the model's cells on the whole, as it was a moment ago. */
  private record MeanPressure(double share, long nanos) {}

  /** Chooses among the cells of a ranking, by what is known of their pressure. */
  public CellChoice(CellRanking ranking, CellReports reports, CellMetrics metrics) {
    this.ranking = ranking;
    this.metrics = metrics;
    this.gauges =
        IntStream.range(0, ranking.size())
            .mapToObj(cell -> reports.gauge(ranking.name(cell)))
            .toArray(PressureGauge[]::new);
  }

  /**
   * Has cells decide until one has a worker.
   *
   * @param decide has a cell decide
   */
  public Decision decide(DecisionRequest request, long nowNanos, Function<String, Decision> decide) {
    if (gauges.length == 1) {
      return decide.apply(ranking.name(0));
    }
    long key = AffinityKey.of(request);
    int chosen = choose(key, nowNanos);
    Decision decision = decide.apply(ranking.name(chosen));
    boolean refused = decision instanceof Decision.NoWorker;
    if (refused) {
      Iterator<Integer> others = others(key, chosen, nowNanos).iterator();
      while (decision instanceof Decision.NoWorker none && mayBeElsewhere(none) && others.hasNext()) {
        chosen = others.next();
        decision = orElse(none, decide.apply(ranking.name(chosen)));
      }
    }
    if (!(decision instanceof Decision.Planned planned)) {
      return decision;
    }
    gauges[chosen].sent();
    int preferred = preferred(key);
    metrics.cellChosen(ranking.name(chosen), refused ? "refused" : chosen == preferred ? "preferred" : "pressed");
    String reason = planned.reason() + "; cell=" + ranking.name(chosen);
    return planned.with(
        planned.steps(),
        chosen == preferred ? reason : reason + "; instead_of=" + ranking.name(preferred));
  }

  /** A request that was not to wait is not sent to wait elsewhere. */
  private static boolean mayBeElsewhere(Decision.NoWorker none) {
    return none.reason() != Decision.NoWorkerReason.NOT_ADMITTED
        && none.reason() != Decision.NoWorkerReason.STOPPING;
  }

  /** The refusal to return of two: full workers may have room again soon, unhealthy ones may not. */
  private static Decision orElse(Decision.NoWorker none, Decision next) {
    boolean full = none.reason() == Decision.NoWorkerReason.ALL_FULL;
    return full && next instanceof Decision.NoWorker ? none : next;
  }

  /**
   * Explains how a decision would come about.
   *
   * @param explain has a cell explain how it would decide
   */
  DecisionRecord explain(DecisionRequest request, long nowNanos, Function<String, DecisionRecord> explain) {
    if (gauges.length == 1) {
      return explain.apply(ranking.name(0));
    }
    long key = AffinityKey.of(request);
    int chosen = choose(key, nowNanos);
    Set<Integer> refused = new HashSet<>();
    DecisionRecord record = explain.apply(ranking.name(chosen));
    Iterator<Integer> others = others(key, chosen, nowNanos).iterator();
    while (record.refused() != null && others.hasNext()) {
      refused.add(chosen);
      chosen = others.next();
      record = explain.apply(ranking.name(chosen));
    }
    return record.withCellOptions(options(key, chosen, refused, nowNanos));
  }

  private List<CellOption> options(long key, int chosen, Set<Integer> refused, long nowNanos) {
    long order = ranking.order(key);
    Set<Integer> shown = new LinkedHashSet<>();
    for (int rank = 0; rank < CellRanking.RANKS; rank++) {
      shown.add(CellRanking.at(order, rank));
    }
    shown.add(chosen);
    double bound = bound(key, nowNanos);
    List<CellOption> options = new ArrayList<>();
    for (int cell : shown) {
      double share = gauges[cell].share(nowNanos);
      boolean pressed = cell != chosen && share > bound;
      String passedOver = refused.contains(cell) ? "no worker" : pressed ? "pressure" : null;
      Double pressure = share == PressureGauge.UNKNOWN ? null : share;
      options.add(new CellOption(ranking.name(cell), pressure, bound, passedOver));
    }
    return options;
  }

  /** The cell a key prefers. */
  private int preferred(long key) {
    return CellRanking.at(ranking.order(key), 0);
  }

  /**
   * The number, in the ranking, of the cell to send the request to. Does not allocate; costs the same however many
   * cells there are.
   */
  int choose(long key, long nowNanos) {
    if (gauges.length == 1) {
      return 0;
    }
    long order = ranking.order(key);
    double bound = bound(key, nowNanos);
    int least = CellRanking.at(order, 0);
    double leastShare = Double.MAX_VALUE;
    for (int rank = 0; rank < CellRanking.RANKS; rank++) {
      int cell = CellRanking.at(order, rank);
      double share = gauges[cell].share(nowNanos);
      // A cell of unknown pressure keeps the requests that prefer it, and gets no others.
      if (share <= bound && (rank == 0 || share != PressureGauge.UNKNOWN)) {
        return cell;
      }
      if (share != PressureGauge.UNKNOWN && share < leastShare) {
        least = cell;
        leastShare = share;
      }
    }
    return least;
  }

  /**
   * The cells to try when the chosen one has no worker: the others of the key's order, then those with least pressure.
   */
  private List<Integer> others(long key, int chosen, long nowNanos) {
    long order = ranking.order(key);
    Set<Integer> others = new LinkedHashSet<>();
    for (int rank = 0; rank < CellRanking.RANKS; rank++) {
      others.add(CellRanking.at(order, rank));
    }
    int most = others.size() + EXTRA_TRIES;
    IntStream.range(0, gauges.length)
        .filter(cell -> gauges[cell].share(nowNanos) < 1)
        .boxed()
        .sorted(Comparator.comparingDouble(cell -> gauges[cell].share(nowNanos)))
        .limit(most)
        .forEach(
            cell -> {
              if (others.size() < most) {
                others.add(cell);
              }
            });
    others.remove(chosen);
    return List.copyOf(others);
  }

  private double bound(long key, long nowNanos) {
    double ownPart = (key & 0xFFFF) / (double) 0xFFFF;
    return Math.min(FULL, BOUND * mean(nowNanos) + MIN_EXCESS * (1 + ownPart));
  }

  private double mean(long nowNanos) {
    MeanPressure known = mean;
    if (known == null || nowNanos - known.nanos() > MEAN_NANOS) {
      known = new MeanPressure(measure(nowNanos), nowNanos);
      mean = known;
    }
    return known.share();
  }

  private double measure(long nowNanos) {
    double used = 0;
    long room = 0;
    for (PressureGauge gauge : gauges) {
      double share = gauge.share(nowNanos);
      if (share != PressureGauge.UNKNOWN) {
        used += share * gauge.capacity();
        room += gauge.capacity();
      }
    }
    return room == 0 ? 0 : used / room;
  }
}
