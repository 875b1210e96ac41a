package io.kvasir.cell.home;

import io.kvasir.cell.CellSettings;
import io.kvasir.cell.EventSources;
import io.kvasir.cell.HealthProbe;
import io.kvasir.cell.ProfileSet;
import io.kvasir.cell.RetentionRelease;
import io.kvasir.cell.directory.CurrentRoster;
import io.kvasir.cell.directory.Directory;
import io.kvasir.cell.view.CellMetrics;
import io.kvasir.cell.view.CellViews;
import io.kvasir.cell.view.DecisionServer;
import io.kvasir.telemetry.DecisionLog;
import io.kvasir.time.NanoClock;
import java.util.concurrent.Executor;
import org.apache.pekko.actor.typed.ActorRef;

/**
 * What all cells of a home node share.
 *
 * @param settings the operator's
 * @param views where cells are published to the node's threads
 * @param directory the node's directory, for the roster
 * @param profiles how decisions are made
 * @param eventSources opens workers' event streams
 * @param probe probes the health of pods
 * @param releases tells engines what they need not retain
 * @param metrics the room's metrics
 * @param decisions where sampled decisions are recorded
 * @param background for work that takes time, such as sweeps
 * @param clock measures time
 * @param roster the pods, as the directory has them
 * @param replication how cells are replicated
 * @param holders the other nodes, which hold reservations here
 */
public record CellServices(
    CellSettings settings,
    CellViews views,
    ActorRef<Directory.Message> directory,
    ProfileSet profiles,
    EventSources eventSources,
    HealthProbe probe,
    RetentionRelease releases,
    CellMetrics metrics,
    DecisionLog decisions,
    Executor background,
    NanoClock clock,
    CurrentRoster roster,
    Replication replication,
    DecisionServer.Holders holders) {}
