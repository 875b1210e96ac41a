package io.kvasir.cell.home;

import io.kvasir.cell.CellSettings;
import io.kvasir.cell.EventSources;
import io.kvasir.cell.HealthProbe;
import io.kvasir.cell.RetentionRelease;
import io.kvasir.cell.TestProfiles;
import io.kvasir.cell.TestSettings;
import io.kvasir.cell.directory.CellNodesKeeper;
import io.kvasir.cell.directory.CurrentRoster;
import io.kvasir.cell.directory.Directory;
import io.kvasir.cell.directory.NodesByCell;
import io.kvasir.cell.standby.CellReplicas;
import io.kvasir.cell.view.CellMetrics;
import io.kvasir.cell.view.CellViews;
import io.kvasir.cell.view.DecisionServer;
import io.kvasir.telemetry.DecisionLog;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.util.concurrent.CompletableFuture;
import org.apache.pekko.actor.testkit.typed.javadsl.TestInbox;
import org.apache.pekko.stream.javadsl.Source;
import org.jspecify.annotations.Nullable;

/** What a node gives a cell in tests, of which a test says only what matters to it. There are no actors. */
final class TestServices {
  private final String profile;
  private CellSettings settings = TestSettings.CELL;
  private Metrics metrics = new Metrics(new PrometheusRegistry());
  private NanoClock clock = () -> 1;
  private HealthProbe probe = _ -> CompletableFuture.completedFuture(true);
  private EventSources events = (_, _) -> Source.never();
  private @Nullable DecisionLog decisions;
  private DecisionServer.Holders holders = (_, _, _, _) -> {
    throw new IllegalStateException("no other node has requests here");
  };

  private TestServices(String profile) {
    this.profile = profile;
  }

  /**
   * A built-in profile, settings of tests, and a time that stands still; no decision is recorded, workers are well and
   * tell nothing, and there is no other node.
   */
  static TestServices deciding(String profile) {
    return new TestServices(profile);
  }

  TestServices settings(CellSettings others) {
    settings = others;
    return this;
  }

  TestServices metrics(Metrics others) {
    metrics = others;
    return this;
  }

  TestServices clock(NanoClock other) {
    clock = other;
    return this;
  }

  TestServices probe(HealthProbe other) {
    probe = other;
    return this;
  }

  TestServices events(EventSources others) {
    events = others;
    return this;
  }

  TestServices decisions(DecisionLog log) {
    decisions = log;
    return this;
  }

  TestServices holders(DecisionServer.Holders others) {
    holders = others;
    return this;
  }

  CellServices build() {
    return new CellServices(
        settings,
        new CellViews(),
        TestInbox.<Directory.Message>create().getRef(),
        TestProfiles.builtIn(profile, metrics),
        events,
        probe,
        RetentionRelease.NONE,
        new CellMetrics(metrics),
        decisions == null ? DecisionLog.off(metrics) : decisions,
        Runnable::run,
        clock,
        new CurrentRoster(),
        alone(),
        holders);
  }

  /** No cell has copies, and nobody is told where any is. */
  private static Replication alone() {
    return new Replication(
        "node", 0, new NodesByCell(), new CellReplicas(),
        TestInbox.<CellNodesKeeper.Message>create().getRef(),
        cell -> {
          throw new IllegalStateException("cell " + cell + " does not move");
        });
  }
}
