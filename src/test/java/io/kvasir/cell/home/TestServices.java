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
import io.kvasir.cell.view.RemoteDecisions;
import io.kvasir.telemetry.DecisionLog;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import java.util.concurrent.CompletableFuture;
import org.apache.pekko.actor.testkit.typed.javadsl.ActorTestKit;
import org.apache.pekko.stream.javadsl.Source;

/** What a node without others gives a cell in tests, whose workers are well and tell nothing. */
final class TestServices {
  private TestServices() {}

  private static final HealthProbe WELL = pod -> CompletableFuture.completedFuture(true);
  private static final EventSources SILENT = (worker, pod) -> Source.never();
  private static final RemoteDecisions.Holders NONE = (_, _, _, _) -> {
    throw new IllegalStateException("no other node has requests here");
  };

  static CellServices of(
      ActorTestKit kit,
      CellSettings settings,
      ProfileSet profiles,
      Metrics metrics,
      DecisionLog decisions,
      NanoClock clock) {
    return of(kit, settings, profiles, metrics, decisions, clock, WELL);
  }

  static CellServices of(
      ActorTestKit kit,
      CellSettings settings,
      ProfileSet profiles,
      Metrics metrics,
      DecisionLog decisions,
      NanoClock clock,
      HealthProbe probe) {
    return of(kit, settings, profiles, metrics, decisions, clock, probe, SILENT);
  }

  static CellServices of(
      ActorTestKit kit,
      CellSettings settings,
      ProfileSet profiles,
      Metrics metrics,
      DecisionLog decisions,
      NanoClock clock,
      HealthProbe probe,
      EventSources events) {
    return of(kit, settings, profiles, metrics, decisions, clock, probe, events, NONE);
  }

  static CellServices of(
      ActorTestKit kit,
      CellSettings settings,
      ProfileSet profiles,
      Metrics metrics,
      DecisionLog decisions,
      NanoClock clock,
      RemoteDecisions.Holders holders) {
    return of(kit, settings, profiles, metrics, decisions, clock, WELL, SILENT, holders);
  }

  private static CellServices of(
      ActorTestKit kit,
      CellSettings settings,
      ProfileSet profiles,
      Metrics metrics,
      DecisionLog decisions,
      NanoClock clock,
      HealthProbe probe,
      EventSources events,
      RemoteDecisions.Holders holders) {
    return new CellServices(
        settings,
        new CellViews(),
        kit.<Directory.Message>createTestProbe().ref(),
        profiles,
        events,
        probe,
        RetentionRelease.NONE,
        new CellMetrics(metrics),
        decisions,
        Runnable::run,
        clock,
        new CurrentRoster(),
        alone(kit),
        holders);
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
