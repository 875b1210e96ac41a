package io.kvasir.limits;

import io.kvasir.access.Caller;
import io.kvasir.access.Grants;
import io.kvasir.access.Limits;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.ManualClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;

/** Nodes with limits whose messages arrive at once, or never, in time that a test moves. Thread-safe. */
public final class SimulatedNodes {
  public static final LimitSettings SETTINGS =
      new LimitSettings(false, new WorkCost(0.1, 3), Duration.ofMinutes(1), Duration.ofMillis(1), 10);

  static final int MOST_IDLE = 100;

  private static final long EPOCH = 1_700_000_000_000L;

  private final ManualClock nanos = new ManualClock();
  private final InstantSource clock = this::instant;
  private final List<Node> nodes = new ArrayList<>();
  private final Map<String, LimitLedger> owners = new HashMap<>();
  private final Set<Integer> cut = new HashSet<>();
  private BooleanSupplier lost = () -> false;
  private int generation;

  /** One of them. */
  record Node(LeaseRenewals renewals, Limiter limiter, Metrics metrics) {}

  /** So many nodes. */
  public SimulatedNodes(int count) {
    this(count, SETTINGS);
  }

  SimulatedNodes(int count, LimitSettings settings) {
    for (int i = 0; i < count; i++) {
      nodes.add(node(i, count, settings));
    }
  }

  private Instant instant() {
    return Instant.ofEpochMilli(EPOCH + nanos.nanos() / 1_000_000);
  }

  static Caller caller(Limits limits) {
    return new Caller("k", "t", Grants.ALL, limits, Limits.NONE);
  }

  public Limiter limiter(int node) {
    return nodes.get(node).limiter();
  }

  Metrics metrics(int node) {
    return nodes.get(node).metrics();
  }

  long millis() {
    return clock.millis();
  }

  public synchronized void advance(Duration by) {
    nanos.advance(by);
    nodes.forEach(node -> node.renewals().check());
  }

  /** Messages for which this is true are lost, reports and answers. */
  void lose(BooleanSupplier which) {
    lost = which;
  }

  /** Cuts a node off from all owners, or connects it again. */
  void cut(int node, boolean off) {
    if (off) {
      cut.add(node);
    } else {
      cut.remove(node);
    }
  }

  /** Every limit gets a new owner that has heard of nothing. */
  void moveOwners() {
    owners.clear();
    generation++;
  }

  private Node node(int index, int count, LimitSettings settings) {
    Metrics metrics = new Metrics(new PrometheusRegistry());
    LimitMetrics limitMetrics = new LimitMetrics(metrics, settings.tenants());
    Accounts accounts = new Accounts(settings.burst(), MOST_IDLE);
    LeaseRenewals[] renewals = new LeaseRenewals[1];
    renewals[0] =
        new LeaseRenewals(
            (limit, sequence, reports) -> {
              if (cut.contains(index) || lost.getAsBoolean()) {
                return;
              }
              List<LeaseGrant> grants = owner(limit).renew("node-" + index, sequence, reports, clock.millis());
              if (!grants.isEmpty() && !lost.getAsBoolean()) {
                renewals[0].answered(limit, sequence, grants);
              }
            },
            accounts::idle,
            () -> count,
            settings.ownerTimeout(),
            limitMetrics,
            nanos,
            clock);
    LimitCheck check =
        new LimitCheck(settings, account -> renew(renewals[0], account, settings), nanos, clock);
    return new Node(renewals[0], new Limiter(settings, accounts, check, limitMetrics, clock), metrics);
  }

  /** A request whose ask is lost waits until the ask is given up. */
  private synchronized void renew(LeaseRenewals renewals, Account account, LimitSettings settings) {
    CompletableFuture<Void> answer = account.nextRenewal();
    renewals.renew(account);
    if (!answer.isDone()) {
      nanos.advance(settings.ownerTimeout());
      var _ = renewals.check();
    }
  }

  private LimitLedger owner(String limit) {
    return owners.computeIfAbsent(limit, _ -> new LimitLedger("owner-" + generation, clock.millis()));
  }
}
