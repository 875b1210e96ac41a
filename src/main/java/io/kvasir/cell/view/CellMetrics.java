package io.kvasir.cell.view;

import io.kvasir.cell.ClusterStatus;
import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.Outcome;
import io.kvasir.cell.WorkerStatus;
import io.kvasir.cell.worker.Member;
import io.kvasir.index.BlockIndex;
import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.GaugeWithCallback;
import io.prometheus.metrics.core.metrics.Histogram;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.ToDoubleFunction;
import java.util.function.ToLongFunction;

/** The metrics of cells, workers, decisions and the index. One per node; thread-safe. */
public final class CellMetrics {
  private final Counter decisions;
  private final Counter outcomes;
  private final Counter fallbacks;
  private final Histogram remoteSeconds;
  private final Counter hitPredictions;
  private final Counter expectedTokens;
  private final Counter resyncs;
  private final Counter healthChanges;
  private final Counter reports;
  private final Counter choices;
  private final Counter handOvers;
  private final Counter snapshots;
  private final Counter repairs;
  private final Map<String, WatchedCell> watched = new ConcurrentHashMap<>();

  private record WatchedCell(BlockIndex index, CellView view) {}

  /** Registers the room's metrics. */
  public CellMetrics(Metrics metrics) {
    PrometheusRegistry registry = metrics.registry();
    decisions =
        Counter.builder()
            .name("kvasir_decisions_total")
            .help("Decisions by profile, model and result, and by whether the cell was at home on this node. Where one"
                + " cell of a model has no worker another is asked, which is one more.")
            .labelNames("profile", "model", "result", "home")
            .register(registry);
    outcomes =
        Counter.builder()
            .name("kvasir_worker_requests_total")
            .help("Requests that ended on a worker, by how.")
            .labelNames("worker", "outcome")
            .register(registry);
    fallbacks =
        Counter.builder()
            .name("kvasir_fallback_decisions_total")
            .help("Decisions made from the roster alone, because the cell's home did not answer, by the profile that"
                + " would have decided, model and result.")
            .labelNames("profile", "model", "result")
            .register(registry);
    remoteSeconds =
        Histogram.builder()
            .name("kvasir_remote_decision_seconds")
            .help("Time of a decision that the cell's home on another node made, the way there and back"
                + " included, by the way: the line to it, or the cluster when there was none or the cell had moved.")
            .labelNames("way")
            .classicOnly()
            .classicUpperBounds(1e-4, 2e-4, 3e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1, 0.2, 0.5)
            .register(registry);
    hitPredictions =
        Counter.builder()
            .name("kvasir_worker_promises_total")
            .help("Answers that reported what was cached of a prompt the index had promised to be cached: kept, broken"
                + " when too much of it was not, or overtaken when the engine evicted it while the prompt waited.")
            .labelNames("worker", "result")
            .register(registry);
    expectedTokens =
        Counter.builder()
            .name("kvasir_worker_promised_tokens_total")
            .help("Tokens the index had promised to be cached, in those answers: found there, or missing.")
            .labelNames("worker", "result")
            .register(registry);
    resyncs =
        Counter.builder()
            .name("kvasir_worker_resyncs_total")
            .help("Times a worker's index was dropped and read anew, because its answers proved it wrong.")
            .labelNames("worker")
            .register(registry);
    healthChanges =
        Counter.builder()
            .name("kvasir_worker_health_changes_total")
            .help("Times a worker became healthy, unhealthy (not reached, or its circuit open) or wedged.")
            .labelNames("worker", "health")
            .register(registry);
    reports =
        Counter.builder()
            .name("kvasir_engine_reports_total")
            .help("Times a pod was asked for its engine's own figures: read, or none because it gave none.")
            .labelNames("pod", "result")
            .register(registry);
    choices =
        Counter.builder()
            .name("kvasir_cell_choices_total")
            .help("Requests for models of several cells by the cell they went to and why: the one they preferred, or"
                + " another because that was pressed or refused.")
            .labelNames("cell", "choice")
            .register(registry);
    GaugeWithCallback.builder()
        .name("kvasir_cell_pressure")
        .help("Share of what the cell can do that is in use, 0 to 1: requests in flight, or prompts that wait.")
        .labelNames("cell")
        .callback(
            gauge ->
                watched.forEach(
                    (cell, seen) -> gauge.call(seen.view().pressure().share(), cell)))
        .register(registry);
    handOvers =
        Counter.builder()
            .name("kvasir_cell_hand_overs_total")
            .help("Cells that came to this node, by kind: planned (to a warm copy), standby (a copy took over from a"
                + " home that was lost), cold (without a copy), first (they had no home before).")
            .labelNames("kind")
            .register(registry);
    snapshots =
        Counter.builder()
            .name("kvasir_standby_snapshots_total")
            .help("Workers that were told as a whole to a copy of their cell on another node.")
            .register(registry);
    repairs =
        Counter.builder()
            .name("kvasir_standby_gaps_repaired_total")
            .help("Times something that was told to a copy got lost and was sent again.")
            .register(registry);
    standby(
        registry,
        "kvasir_standby_warm",
        "1 while the cell's copy on the node could take over.",
        standby -> standby.warm() ? 1 : 0);
    standby(
        registry,
        "kvasir_standby_lag_events",
        "Events that the cell has applied and its copy on the node has not confirmed.",
        ClusterStatus.StandbyStatus::behind);
    standby(
        registry,
        "kvasir_standby_lag_seconds",
        "How long the oldest of those events has waited.",
        standby -> standby.lagMillis() / 1e3);
    index(registry, "kvasir_index_rows", "Distinct blocks held by some worker of the cell.", BlockIndex::rows);
    index(registry, "kvasir_index_bytes", "Memory of the cell's index.", BlockIndex::bytes);
    index(registry, "kvasir_index_slots", "Workers the cell's index has room for.", BlockIndex::slots);
    index(
        registry,
        "kvasir_index_refused_blocks",
        "Blocks that were not indexed because the budget was reached, since the cell came here.",
        BlockIndex::refused);
    worker(registry, "kvasir_worker_in_flight", "Requests booked on the worker.", WorkerStatus::inFlight);
    worker(
        registry,
        "kvasir_worker_pending_tokens",
        "Uncached prompt tokens booked on the worker whose first token has not been seen.",
        WorkerStatus::pendingTokens);
    worker(registry, "kvasir_worker_blocks", "KV blocks the index knows the worker holds.", WorkerStatus::blocks);
    worker(
        registry,
        "kvasir_worker_predicted_blocks",
        "KV blocks the worker is believed to hold because of what it was sent, though its engine has not told.",
        WorkerStatus::predictedBlocks);
    worker(
        registry,
        "kvasir_worker_trust",
        "What the index's word on the worker is worth, 0 to 1; below 1 answers contradict it.",
        WorkerStatus::trust);
    worker(
        registry,
        "kvasir_worker_healthy",
        "1 while the worker may be sent requests.",
        worker -> worker.health() == WorkerStatus.Health.HEALTHY && !worker.draining() ? 1 : 0);
    worker(
        registry,
        "kvasir_worker_wedged",
        "1 while the worker has requests and does not move, and so gets nothing new.",
        worker -> worker.health() == WorkerStatus.Health.WEDGED ? 1 : 0);
    worker(
        registry,
        "kvasir_worker_engine_waiting",
        "Requests that wait in the worker's engine by its own word, -1 while it does not say.",
        worker -> worker.report().waiting());
    worker(
        registry,
        "kvasir_worker_engine_running",
        "Requests the worker's engine computes by its own word, -1 while it does not say.",
        worker -> worker.report().running());
    worker(
        registry,
        "kvasir_worker_engine_kv_use",
        "Share of the worker's KV cache in use by its engine's own word, -1 while it does not say.",
        worker -> worker.report().kvUse());
    worker(
        registry,
        "kvasir_worker_suspect",
        "1 while events of the worker are known to be missing.",
        worker -> worker.suspect() ? 1 : 0);
  }

  /** A cell came to this node. */
  public void homeStarted(String kind) {
    handOvers.labelValues(kind).inc();
  }

  /** A copy is told a worker as a whole. */
  public void snapshotSent() {
    snapshots.inc();
  }

  /** Something that was told to a copy got lost and was sent again. */
  public void framesResent() {
    repairs.inc();
  }

  /** Shows a cell's figures until it is {@link #unwatch forgotten}. */
  void watch(String cell, BlockIndex index, CellView view) {
    watched.put(cell, new WatchedCell(index, view));
  }

  /** Shows a cell's figures no more. */
  public void unwatch(String cell) {
    watched.remove(cell);
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
   * @param way {@code line} or {@code cluster}
   */
  public void decidedRemotely(String way, long nanos) {
    remoteSeconds.labelValues(way).observe(nanos / 1e9);
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
          };
    };
  }

  /** A request on a worker is over. */
  public void requestEnded(Member member, Outcome outcome) {
    String kind =
        switch (outcome) {
          case Outcome.Completed ignored -> "completed";
          case Outcome.Cancelled ignored -> "cancelled";
          case Outcome.Refused ignored -> "refused";
          case Outcome.Failed failed -> failed.transport() ? "lost_contact" : "failed";
        };
    outcomes.labelValues(member.worker().id(), kind).inc();
  }

  /** An answer said how many tokens of its prompt were cached, where {@code promised} were to be. */
  public void cacheHitsReported(Member member, int promised, int found, Member.HitOutcome promise) {
    String worker = member.worker().id();
    hitPredictions.labelValues(worker, promise.name().toLowerCase(Locale.ROOT)).inc();
    expectedTokens.labelValues(worker, "found").inc(Math.min(promised, found));
    expectedTokens.labelValues(worker, "missing").inc(Math.max(0, promised - found));
  }

  /** A worker's health has changed. */
  public void healthChanged(Member member, WorkerStatus.Health health) {
    healthChanges.labelValues(member.worker().id(), health.name().toLowerCase(Locale.ROOT)).inc();
  }

  /** A pod was asked for its engine's own figures. */
  public void reported(String pod, boolean read) {
    reports.labelValues(pod, read ? "read" : "none").inc();
  }

  /** What was known of a worker is dropped and read anew. */
  public void resynchronised(Member member) {
    resyncs.labelValues(member.worker().id()).inc();
  }

  private void index(
      PrometheusRegistry registry, String name, String help, ToLongFunction<BlockIndex> value) {
    GaugeWithCallback.builder()
        .name(name)
        .help(help)
        .labelNames("cell")
        .callback(
            gauge -> watched.forEach((cell, seen) -> gauge.call((double) value.applyAsLong(seen.index()), cell)))
        .register(registry);
  }

  private void standby(
      PrometheusRegistry registry,
      String name,
      String help,
      ToDoubleFunction<ClusterStatus.StandbyStatus> value) {
    GaugeWithCallback.builder()
        .name(name)
        .help(help)
        .labelNames("cell", "node")
        .callback(
            gauge ->
                watched.forEach(
                    (cell, seen) ->
                        seen.view()
                            .standbys()
                            .forEach(
                                standby -> gauge.call(value.applyAsDouble(standby), cell, standby.node()))))
        .register(registry);
  }

  private void worker(
      PrometheusRegistry registry, String name, String help, ToDoubleFunction<WorkerStatus> value) {
    GaugeWithCallback.builder()
        .name(name)
        .help(help)
        .labelNames("cell", "worker")
        .callback(
            gauge ->
                watched.forEach(
                    (cell, seen) ->
                        seen.view()
                            .workers()
                            .forEach(
                                worker ->
                                    gauge.call(value.applyAsDouble(worker), cell, worker.worker().id()))))
        .register(registry);
  }
}
