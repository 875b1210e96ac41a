package io.kvasir.cell.home;

import io.kvasir.cell.CellSettings;
import io.kvasir.cell.EventSources;
import io.kvasir.cell.HealthProbe;
import io.kvasir.cell.ProfileSet;
import io.kvasir.cell.RetentionRelease;
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
import java.util.concurrent.CompletableFuture;
import org.apache.pekko.actor.testkit.typed.javadsl.ActorTestKit;
import org.apache.pekko.stream.javadsl.Source;

/** What a node gives a cell in tests. */
final class TestServices {
  private TestServices() {}

  /** What a cell meets outside of its node. */
  record Outside(HealthProbe probe, EventSources events, DecisionServer.Holders holders) {
    /** Workers that are well and tell nothing, and no other node. */
    static final Outside QUIET =
        new Outside(
            pod -> CompletableFuture.completedFuture(true),
            (worker, pod) -> Source.never(),
            (_, _, _, _) -> {
              throw new IllegalStateException("no other node has requests here");
            });

    Outside with(HealthProbe other) {
      return new Outside(other, events, holders);
    }

    Outside with(EventSources other) {
      return new Outside(probe, other, holders);
    }

    Outside with(DecisionServer.Holders other) {
      return new Outside(probe, events, other);
    }
  }

  static CellServices of(
      ActorTestKit kit,
      CellSettings settings,
      ProfileSet profiles,
      Metrics metrics,
      DecisionLog decisions,
      NanoClock clock) {
    return of(kit, settings, profiles, metrics, decisions, clock, Outside.QUIET);
  }

  static CellServices of(
      ActorTestKit kit,
      CellSettings settings,
      ProfileSet profiles,
      Metrics metrics,
      DecisionLog decisions,
      NanoClock clock,
      Outside outside) {
    return new CellServices(
        settings,
        new CellViews(),
        kit.<Directory.Message>createTestProbe().ref(),
        profiles,
        outside.events(),
        outside.probe(),
        RetentionRelease.NONE,
        new CellMetrics(metrics),
        decisions,
        Runnable::run,
        clock,
        new CurrentRoster(),
        alone(kit),
        outside.holders());
  }

  /** No cell has copies, and nobody is told where any is. */
  private static Replication alone(ActorTestKit kit) {
    return new Replication(
        "node", 0, new NodesByCell(), new CellReplicas(), kit.<CellNodesKeeper.Message>createTestProbe().ref(),
        cell -> {
          throw new IllegalStateException("cell " + cell + " does not move");
        });
  }
}
