package io.kvasir.cell.view;

import io.kvasir.admission.AdmissionMetrics;
import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.index.BlockIndex;
import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.Histogram;
import io.prometheus.metrics.model.registry.PrometheusRegistry;

/** The metrics of cells, workers, decisions and the index. One per node; thread-safe. */
public final class CellMetrics {
  private final Counter decisions;
  private final Counter fallbacks;
  private final Histogram remoteSeconds;
  private final Counter choices;
  private final Counter handOvers;
  private final Counter snapshots;
  private final Counter repairs;
  private final Counter reclaimed;
  private final ProgramMetrics programs;
  private final AdmissionMetrics admission;
  private final WorkerCounters workers;
  private final CellGauges gauges = new CellGauges();

  /** Registers the metrics of cells. */
  public CellMetrics(Metrics metrics) {
    PrometheusRegistry registry = metrics.registry();
    programs = new ProgramMetrics(registry);
    admission = new AdmissionMetrics(metrics);
    workers = new WorkerCounters(metrics);
    decisions =
        metrics.counter(
            "kvasir_decisions_total",
            "Decisions by profile, model and result, and by whether the cell's home was this node. When one cell"
                + " of a model has no worker for a request, another decides too and is counted again.",
            "profile", "model", "result", "home");
    fallbacks =
        metrics.counter(
            "kvasir_fallback_decisions_total",
            "Decisions made from the roster alone, because the cell's home did not answer, by the profile that"
                + " would have decided, model and result.",
            "profile", "model", "result");
    choices =
        metrics.counter(
            "kvasir_cell_choices_total",
            "Requests for models of several cells by the cell they were sent to and why: the preferred one, or"
                + " another because that was under pressure or refused.",
            "cell", "choice");
    handOvers =
        metrics.counter(
            "kvasir_cell_hand_overs_total",
            "Cells whose home this node became, by kind: planned (to a warm replica), standby (a replica took over"
                + " from a home that was lost), cold (without a replica), first (they had no home before).",
            "kind");
    snapshots =
        metrics.counter(
            "kvasir_standby_snapshots_total",
            "Snapshots of a worker's state sent to a replica of its cell on another node.");
    repairs =
        metrics.counter(
            "kvasir_standby_gaps_repaired_total",
            "Times changes that were sent to a replica were lost and sent again.");
    reclaimed =
        metrics.counter(
            "kvasir_reservations_reclaimed_total",
            "Reservations of other nodes that were given back though their end had not come, by why: the node declared"
                + " that it has them no more, or their lease ended without a declaration.",
            "by");
    reclaimed.initLabelValues("declaration");
    reclaimed.initLabelValues("lease");
    remoteSeconds =
        Histogram.builder()
            .name("kvasir_remote_decision_seconds")
            .help("Time of a decision by the cell's home on another node, round trip included, by how it was"
                + " reached: the peer connection, or the cluster when there was none or the cell had moved.")
            .labelNames("way")
            .classicOnly()
            .classicUpperBounds(1e-4, 2e-4, 3e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1, 0.2, 0.5)
            .register(registry);
    registry.register(gauges);
  }

  /** Those of the cells' programs. */
  ProgramMetrics programs() {
    return programs;
  }

  /** Those of the cells' waiting rooms. */
  AdmissionMetrics admission() {
    return admission;
  }

  /** Those of single workers. */
  public WorkerCounters workers() {
    return workers;
  }

  /** A cell came to this node. */
  public void homeStarted(String kind) {
    handOvers.labelValues(kind).inc();
  }

  /** A snapshot of a worker is sent to a replica. */
  public void snapshotSent() {
    snapshots.inc();
  }

  /** A frame to a replica got lost and was sent again. */
  public void framesResent() {
    repairs.inc();
  }

  /** Shows a cell's figures until it is {@link #unwatch forgotten}. */
  void watch(String cell, BlockIndex index, CellView view) {
    gauges.watch(cell, index, view);
  }

  /** Shows a cell's figures no more. */
  public void unwatch(String cell) {
    gauges.unwatch(cell);
  }

  /** A request for a model that the roster knows was decided on. */
  public void decided(DecisionRequest request, Decision decision, boolean home) {
    decisions
        .labelValues(profile(request), request.model(), result(decision), home ? "here" : "elsewhere")
        .inc();
  }

  /**
   * A home on another node has decided.
   *
   * @param way how it was reached
   */
  public void decidedRemotely(Decision.Way way, long nanos) {
    remoteSeconds.labelValues(way.label()).observe(nanos / 1e9);
  }

  /**
   * Reservations of other nodes were given back without their end.
   *
   * @param by {@code declaration} or {@code lease}
   */
  void reclaimed(String by, int reservations) {
    if (reservations > 0) {
      reclaimed.labelValues(by).inc(reservations);
    }
  }

  /** A decision was made from the roster alone. */
  public void fellBack(DecisionRequest request, Decision decision) {
    fallbacks.labelValues(profile(request), request.model(), result(decision)).inc();
  }

  /**
   * A request went to one of several cells.
   *
   * @param why {@code preferred}, {@code pressed} or {@code refused}
   */
  public void cellChosen(String cell, String why) {
    choices.labelValues(cell, why).inc();
  }

  private static String profile(DecisionRequest request) {
    return request.profile() == null ? "" : request.profile();
  }

  private static String result(Decision decision) {
    return switch (decision) {
      case Decision.Planned ignored -> "chosen";
      case Decision.NoWorker none ->
          switch (none.reason()) {
            case UNKNOWN_MODEL -> "unknown_model";
            case NONE_HEALTHY -> "none_healthy";
            case ALL_FULL -> "all_full";
            case NO_HOME -> "no_home";
            case CUT_OFF -> "cut_off";
            case STOPPING -> "stopping";
            case NOT_CACHED -> "not_cached";
            case NOT_ADMITTED -> "not_admitted";
          };
    };
  }
}
