package io.kvasir.scale.live;

import io.kvasir.cell.ClusterStatus;
import io.kvasir.cell.ClusterStatus.CellStatus;
import io.kvasir.cell.ClusterStatus.NodeStatus;
import io.kvasir.cell.UnservedDemand;
import io.kvasir.routing.cost.CostModel;
import io.kvasir.scale.ScaleAdvice;
import io.kvasir.scale.ScaleAdvisor;
import io.kvasir.scale.ScaleTarget;
import io.kvasir.time.NanoClock;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * Works the advice for autoscalers out, or follows the node that does: one node of a cluster asks the homes of all
 * cells and publishes what comes of it, so that every node gives the same answer. The others feed their own advisors
 * with what is published, to go on from there when it falls silent. Thread-safe.
 */
public final class ScaleMonitor {
  /** A node that leads and publishes nothing for so many intervals is replaced by each node's own view. */
  private static final int SILENT_INTERVALS = 3;

  private final ScaleSettings settings;
  private final Supplier<ClusterStatus> cluster;
  private final BooleanSupplier leads;
  private final Consumer<ScaleReport> publisher;
  private final NanoClock clock;
  private final DemandMeter meter;
  private final Map<ScaleTarget, ScaleAdvisor> advisors = new HashMap<>();
  private final Map<String, FromNode> unserved = new HashMap<>();
  private final Map<String, Integer> refused = new HashMap<>();
  private final List<Consumer<ScaleReport>> listeners = new CopyOnWriteArrayList<>();
  private volatile ScaleReport report = ScaleReport.NONE;
  private volatile long reportedNanos;

  /**
   * Knows nothing yet.
   *
   * @param cluster describes the cluster; may wait
   * @param leads whether it is this node that works the advice out for all
   * @param publisher publishes it to all nodes
   */
  public ScaleMonitor(
      ScaleSettings settings, Supplier<ClusterStatus> cluster, CostModel costs, BooleanSupplier leads,
      Consumer<ScaleReport> publisher, NanoClock clock) {
    this.settings = settings;
    this.cluster = cluster;
    this.leads = leads;
    this.publisher = publisher;
    this.clock = clock;
    this.meter = new DemandMeter(costs, settings.fromZero(), settings.interval().toNanos() / 2e9);
    this.reportedNanos = clock.nanos() - settings.interval().toNanos() * SILENT_INTERVALS;
  }

  /** The requests of a node that no cell has, and when it published them. */
  private record FromNode(UnservedDemand demand, long nanos) {}

  /**
   * Takes what a node has published of its requests that no cell has; it goes on to count for some intervals.
   *
   * @return whether requests wait for a model that is not active yet, so that the advice is to be worked out at once
   */
  public synchronized boolean add(String node, UnservedDemand demand) {
    forgetSilentNodes();
    unserved.put(node, new FromNode(demand, clock.nanos()));
    demand.refused().forEach((model, count) -> refused.merge(model, count, Integer::sum));
    return leads.getAsBoolean()
        && demand.waiting().stream()
            .anyMatch(
                waiting -> report.targets().stream()
                    .noneMatch(
                        advice -> advice.target().model().equals(waiting.model()) && advice.demand().isActive()));
  }

  /** All that nodes have published; each refusal once. */
  private UnservedDemand takeUnserved() {
    forgetSilentNodes();
    UnservedDemand all =
        new UnservedDemand(
            refused, unserved.values().stream().flatMap(each -> each.demand.waiting().stream()).toList());
    refused.clear();
    return all;
  }

  private void forgetSilentNodes() {
    long oldest = clock.nanos() - settings.interval().toNanos() * SILENT_INTERVALS;
    unserved.values().removeIf(each -> each.nanos - oldest < 0);
  }

  /** Works the advice out when it is due and this node's to do. Waits for the homes of cells. */
  public void tick() {
    boolean silent = clock.nanos() - reportedNanos >= settings.interval().toNanos() * SILENT_INTERVALS;
    if (leads.getAsBoolean()) {
      ScaleReport found = observe(cluster.get());
      publisher.accept(found);
    } else if (silent) {
      observe(cluster.get());
    }
  }

  private synchronized ScaleReport observe(ClusterStatus status) {
    double seconds = clock.nanos() / 1e9;
    List<ScaleAdvice> targets = new ArrayList<>();
    meter.measure(seconds, status, takeUnserved()).forEach((target, measured) ->
        targets.add(advisor(target).advise(seconds, measured.demand(), measured.capacity())));
    ScaleReport found =
        new ScaleReport(
            List.copyOf(targets),
            status.cells().stream().filter(cell -> cell.home() == null).map(CellStatus::name).toList(),
            status.nodes().stream().filter(node -> !node.reachable()).map(NodeStatus::address).toList());
    accept(found);
    return found;
  }

  /** Takes what another node has worked out. */
  public synchronized void follow(ScaleReport other) {
    if (leads.getAsBoolean()) {
      return;
    }
    refused.clear();
    double seconds = clock.nanos() / 1e9;
    for (ScaleAdvice advice : other.targets()) {
      ScaleAdvisor advisor = advisor(advice.target());
      advisor.advise(seconds, advice.demand(), advice.capacity());
      advisor.follow(advice.desired());
    }
    reportedNanos = clock.nanos();
    accept(other);
  }

  private ScaleAdvisor advisor(ScaleTarget target) {
    return advisors.computeIfAbsent(target, _ -> new ScaleAdvisor(target, settings.of(target.model())));
  }

  /** Forgets targets that there are no more: their history would be one of nothing. */
  private void accept(ScaleReport found) {
    advisors.keySet().retainAll(found.targets().stream().map(ScaleAdvice::target).toList());
    report = found;
    listeners.forEach(listener -> listener.accept(found));
  }

  /** The advice as of a moment ago. */
  public ScaleReport report() {
    return report;
  }

  /** Calls a listener with each report from now on, until what is returned is run. It must not wait. */
  public Runnable listen(Consumer<ScaleReport> listener) {
    listeners.add(listener);
    return () -> listeners.remove(listener);
  }

  /** How many listen. */
  public int listeners() {
    return listeners.size();
  }
}
