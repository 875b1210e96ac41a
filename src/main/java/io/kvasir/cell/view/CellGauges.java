package io.kvasir.cell.view;

import io.kvasir.cell.ClusterStatus.StandbyStatus;
import io.kvasir.cell.EventMode;
import io.kvasir.cell.WorkerStatus;
import io.kvasir.index.BlockIndex;
import io.prometheus.metrics.model.registry.MultiCollector;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot.GaugeDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;
import io.prometheus.metrics.model.snapshots.MetricFamilyDescriptor;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.ToDoubleFunction;
import java.util.stream.Stream;

/**
 * The gauges of the cells whose home is this node. A scrape reads every cell, standby and worker once for all of its
 * gauges, and takes no lock that a writer of the index holds. Thread-safe.
 */
final class CellGauges implements MultiCollector {
  private static final List<Gauge<CellView>> CELL =
      List.of(
          new Gauge<>(
              "kvasir_cell_pressure",
              "Share of what the cell can do that is in use, 0 to 1: requests in flight, or prompts that wait.",
              view -> view.pressure().share()));

  private static final List<Gauge<CellPrograms>> PROGRAMS =
      List.of(
          new Gauge<>("kvasir_programs", "Programs that are remembered.", cell -> cell.status().programs()),
          new Gauge<>("kvasir_programs_live", "Programs that are expected back.", cell -> cell.status().live()),
          new Gauge<>("kvasir_programs_waiting", "Programs that wait for room.", cell -> cell.status().waiting()),
          new Gauge<>(
              "kvasir_programs_retained",
              "Programs of which engines retain what they have used, where engines can be told so.",
              CellPrograms::retained),
          new Gauge<>(
              "kvasir_programs_expected_tokens",
              "Tokens of the contexts of live programs, those of idle ones by how likely programs come back.",
              cell -> cell.status().expectedTokens()),
          new Gauge<>(
              "kvasir_programs_live_tokens",
              "Tokens of the contexts of live programs, those that several share counted once.",
              cell -> cell.status().liveTokens()),
          new Gauge<>(
              "kvasir_programs_capacity_tokens",
              "Tokens that the cell's workers can hold, 0 while that is not known.",
              CellPrograms::capacityTokens));

  private static final List<Gauge<BlockIndex>> INDEX =
      List.of(
          new Gauge<>("kvasir_index_rows", "Distinct blocks held by some worker of the cell.", BlockIndex::rows),
          new Gauge<>("kvasir_index_bytes", "Memory of the cell's index.", BlockIndex::bytes),
          new Gauge<>("kvasir_index_slots", "Workers the cell's index has room for.", BlockIndex::slots),
          new Gauge<>(
              "kvasir_index_refused_blocks",
              "Blocks that were not indexed because the budget was reached, since this node became the cell's home.",
              BlockIndex::refused));

  private static final List<Gauge<StandbyStatus>> STANDBY =
      List.of(
          new Gauge<>(
              "kvasir_standby_warm",
              "1 while the cell's replica on the node could take over.",
              standby -> standby.warm() ? 1 : 0),
          new Gauge<>(
              "kvasir_standby_lag_events",
              "Events that the cell has applied and its replica on the node has not acknowledged.",
              StandbyStatus::behind),
          new Gauge<>(
              "kvasir_standby_lag_seconds",
              "Age of the oldest event that the replica on the node has not acknowledged.",
              standby -> standby.lagMillis() / 1e3));

  private static final List<Gauge<WorkerStatus>> WORKER =
      List.of(
          new Gauge<>("kvasir_worker_in_flight", "Requests booked on the worker.", worker -> worker.load().inFlight()),
          new Gauge<>(
              "kvasir_worker_pending_tokens",
              "Uncached prompt tokens booked on the worker whose first token has not been seen.",
              worker -> worker.load().pendingTokens()),
          new Gauge<>(
              "kvasir_worker_blocks",
              "KV blocks the index knows the worker holds.",
              worker -> worker.index().blocks()),
          new Gauge<>(
              "kvasir_worker_predicted_blocks",
              "KV blocks the worker is predicted to hold after the prompts it was sent, not confirmed by events.",
              worker -> worker.index().predictedBlocks()),
          new Gauge<>(
              "kvasir_worker_trust",
              "Trust in the index of the worker, 0 to 1; below 1 its answers contradict the index.",
              worker -> worker.index().trust()),
          new Gauge<>(
              "kvasir_worker_healthy",
              "1 while the worker may be sent requests.",
              worker -> worker.health() == WorkerStatus.Health.HEALTHY && !worker.draining() ? 1 : 0),
          new Gauge<>(
              "kvasir_worker_wedged",
              "1 while the worker has requests but makes no progress, and so gets no new ones.",
              worker -> worker.health() == WorkerStatus.Health.WEDGED ? 1 : 0),
          new Gauge<>(
              "kvasir_worker_engine_waiting",
              "Requests that wait in the worker's engine as it reports, -1 while it does not.",
              worker -> worker.load().report().waiting()),
          new Gauge<>(
              "kvasir_worker_engine_running",
              "Requests that the worker's engine computes as it reports, -1 while it does not.",
              worker -> worker.load().report().running()),
          new Gauge<>(
              "kvasir_worker_engine_kv_use",
              "Share of the worker's KV cache in use as its engine reports, -1 while it does not.",
              worker -> worker.load().report().kvUse()),
          new Gauge<>(
              "kvasir_worker_suspect",
              "1 while events of the worker are known to be missing.",
              worker -> worker.index().suspect() ? 1 : 0));

  private static final String EVENTS = "kvasir_worker_events";
  private static final String EVENTS_HELP =
      "1 for how the index learns what the worker holds: live, replaying, snapshot, silent, suspect or approximate.";

  private static final String LOSS = "kvasir_worker_eviction_loss";
  private static final String LOSS_HELP =
      "Share of the blocks that the worker evicted lately which some worker had to compute again, 0 to 1.";

  private final Map<String, WatchedCell> watched = new ConcurrentHashMap<>();

  private record WatchedCell(BlockIndex index, CellView view) {}

  /** A gauge of everything of one kind. */
  private record Gauge<T>(String name, String help, ToDoubleFunction<T> value) {
    MetricFamilyDescriptor descriptor(String... labels) {
      return MetricFamilyDescriptor.gauge(name).help(help).labelNames(labels).build();
    }
  }

  /** The gauges of one kind in one scrape. */
  private static final class Scrape<T> {
    private final List<Gauge<T>> gauges;
    private final List<GaugeSnapshot.Builder> snapshots = new ArrayList<>();

    Scrape(List<Gauge<T>> gauges) {
      this.gauges = gauges;
      for (Gauge<T> gauge : gauges) {
        snapshots.add(GaugeSnapshot.builder().name(gauge.name()).help(gauge.help()));
      }
    }

    void add(T measured, Labels labels) {
      for (int i = 0; i < gauges.size(); i++) {
        double value = gauges.get(i).value().applyAsDouble(measured);
        snapshots.get(i).dataPoint(GaugeDataPointSnapshot.builder().labels(labels).value(value).build());
      }
    }

    void build(MetricSnapshots.Builder all) {
      snapshots.forEach(snapshot -> all.metricSnapshot(snapshot.build()));
    }
  }

  /** Includes a cell until {@link #unwatch}; a cell that is watched already is replaced. */
  void watch(String cell, BlockIndex index, CellView view) {
    watched.put(cell, new WatchedCell(index, view));
  }

  void unwatch(String cell) {
    watched.remove(cell);
  }

  @Override
  public MetricSnapshots collect() {
    Scrape<CellView> cells = new Scrape<>(CELL);
    Scrape<CellPrograms> programs = new Scrape<>(PROGRAMS);
    Scrape<BlockIndex> indexes = new Scrape<>(INDEX);
    Scrape<StandbyStatus> standbys = new Scrape<>(STANDBY);
    Scrape<WorkerStatus> workers = new Scrape<>(WORKER);
    GaugeSnapshot.Builder events = GaugeSnapshot.builder().name(EVENTS).help(EVENTS_HELP);
    GaugeSnapshot.Builder losses = GaugeSnapshot.builder().name(LOSS).help(LOSS_HELP);
    watched.forEach((name, cell) -> {
      double[] loss = cell.index().evictionLosses();
      Labels labels = Labels.of("cell", name);
      cells.add(cell.view(), labels);
      indexes.add(cell.index(), labels);
      CellPrograms its = cell.view().programs();
      if (its != null) {
        programs.add(its, labels);
      }
      for (StandbyStatus standby : cell.view().standbys()) {
        standbys.add(standby, Labels.of("cell", name, "node", standby.node()));
      }
      for (WorkerStatus worker : cell.view().workers()) {
        String id = worker.worker().id();
        Labels labelled = Labels.of("cell", name, "worker", id);
        workers.add(worker, labelled);
        // The index may have been widened since, and others have been added then.
        int slot = worker.worker().slot();
        losses.dataPoint(
            GaugeDataPointSnapshot.builder().labels(labelled).value(slot < loss.length ? loss[slot] : 0).build());
        Labels mode = Labels.of("cell", name, "worker", id, "mode", EventMode.of(worker).label());
        events.dataPoint(GaugeDataPointSnapshot.builder().labels(mode).value(1).build());
      }
    });
    MetricSnapshots.Builder all = MetricSnapshots.builder();
    cells.build(all);
    programs.build(all);
    indexes.build(all);
    standbys.build(all);
    workers.build(all);
    all.metricSnapshot(losses.build());
    all.metricSnapshot(events.build());
    return all.build();
  }

  @Override
  public List<MetricFamilyDescriptor> getMetricFamilyDescriptors() {
    return Stream.of(
            Stream.concat(CELL.stream(), INDEX.stream()).map(gauge -> gauge.descriptor("cell")),
            PROGRAMS.stream().map(gauge -> gauge.descriptor("cell")),
            STANDBY.stream().map(gauge -> gauge.descriptor("cell", "node")),
            WORKER.stream().map(gauge -> gauge.descriptor("cell", "worker")),
            Stream.of(
                MetricFamilyDescriptor.gauge(LOSS).help(LOSS_HELP).labelNames("cell", "worker").build(),
                MetricFamilyDescriptor.gauge(EVENTS).help(EVENTS_HELP).labelNames("cell", "worker", "mode").build()))
        .flatMap(each -> each)
        .toList();
  }
}
