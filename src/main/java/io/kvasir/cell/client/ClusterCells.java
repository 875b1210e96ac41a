package io.kvasir.cell.client;

import io.kvasir.admission.Claim;
import io.kvasir.cell.Cells;
import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.FromZeroSettings;
import io.kvasir.cell.LearntEngines.LearntEngine;
import io.kvasir.cell.PartitionPolicy;
import io.kvasir.cell.UnservedDemand;
import io.kvasir.cell.WorkerSummary;
import io.kvasir.cell.directory.CellNodes;
import io.kvasir.cell.directory.CurrentRoster;
import io.kvasir.cell.directory.Roster;
import io.kvasir.cell.view.CellAdmission;
import io.kvasir.cell.view.CellMetrics;
import io.kvasir.cell.view.CellView;
import io.kvasir.cell.view.CellViews;
import io.kvasir.cell.view.DecisionRecorder;
import io.kvasir.cell.view.TurnResult;
import io.kvasir.http.Cancellation;
import io.kvasir.telemetry.DecisionRecord;
import io.kvasir.time.NanoClock;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;

/**
 * A node's client of every cell of the cluster. A request goes to one of its model's cells: decided at once where this
 * node is the cell's home, by its {@link RemoteCell} otherwise, and from the roster alone while no home answers.
 */
public final class ClusterCells implements Cells {
  /** How often a request that waits follows its cell; then it goes without waiting. */
  private static final int MOST_MOVES = 100;

  private static final long MOVE_PAUSE_NANOS = 20_000_000;

  private final PartitionPolicy partitionPolicy;
  private final CellViews views;
  private final CurrentRoster roster;
  private final RemoteCells remote;
  private final CellMetrics metrics;
  private final NanoClock clock;
  private final RefusalCounter refusals = new RefusalCounter();
  private final CellChoices choices;
  private final RosterWorkers rosterWorkers;
  private final FirstWorkerWaits firstWorkers;
  private final Fallback fallback;
  private final SessionWorkers sessions;

  ClusterCells(
      PartitionPolicy partitionPolicy,
      CellViews views,
      CurrentRoster roster,
      CellReports reports,
      RemoteCells remote,
      SessionWorkers sessions,
      CellMetrics metrics,
      FromZeroSettings fromZero,
      NanoClock clock) {
    this.partitionPolicy = partitionPolicy;
    this.views = views;
    this.roster = roster;
    this.remote = remote;
    this.metrics = metrics;
    this.clock = clock;
    this.choices = new CellChoices(reports, metrics);
    this.rosterWorkers = new RosterWorkers(roster, views, reports);
    this.firstWorkers = new FirstWorkerWaits(fromZero, rosterWorkers::serving, clock);
    this.fallback = new Fallback(clock);
    this.sessions = sessions;
  }

  @Override
  public Decision decide(DecisionRequest request) {
    DecisionRequest atOnce = request.claim() == null ? request : request.claiming(null);
    return decide(atOnce, this::decideAtOnce);
  }

  @Override
  public Decision decideInTurn(DecisionRequest request, Cancellation client) {
    Decision decision = firstWorkers.decide(request, () -> decideNowOrInTurn(request, client), client);
    refusals.count(request.model(), decision);
    return decision;
  }

  private Decision decideNowOrInTurn(DecisionRequest request, Cancellation client) {
    return request.claim() == null
        ? decide(request)
        : decide(request, (cell, located) -> decideInTurn(cell, located, client));
  }

  @Override
  public LearntEngine learntEngine(String pod) {
    return views.learntEngines().of(pod);
  }

  /** The node stops: requests that wait for the first worker of a model are refused. Idempotent. */
  void stopWaiting() {
    firstWorkers.close();
  }

  @Override
  public UnservedDemand takeUnserved() {
    return new UnservedDemand(refusals.take(), firstWorkers.backlog());
  }

  private Decision decide(DecisionRequest request, BiFunction<String, DecisionRequest, Decision> inCell) {
    Roster now = roster.get();
    CellChoice choice = choices.of(now, request.model());
    if (choice == null) {
      return unknownModel(request);
    }
    DecisionRequest located = sessions.located(request);
    String joined = cellOfOtherSteps(now, located);
    Decision decision = joined == null
        ? choice.decide(located, clock.nanos(), cell -> decide(now, cell, located, inCell))
        : decide(now, joined, located, inCell);
    sessions.decided(located, decision);
    return decision;
  }

  private Decision decideAtOnce(String cell, DecisionRequest request) {
    CellView view = views.of(cell);
    return view != null ? view.decide(request) : remote.of(cell).decide(request);
  }

  /** Waits at whichever node is the cell's home, as long as the cell moves; the place is kept by the time waited. */
  private Decision decideInTurn(String cell, DecisionRequest request, Cancellation client) {
    Claim claim = Objects.requireNonNull(request.claim());
    long startNanos = clock.nanos();
    for (int moves = 0; moves < MOST_MOVES; moves++) {
      Claim waited = claim.waited(claim.waitedMillis() + (clock.nanos() - startNanos) / 1_000_000);
      TurnResult result = decideInTurn(cell, request.claiming(waited), waited, client);
      if (result instanceof TurnResult.Decided(Decision decision)) {
        return decision;
      }
      if (result instanceof TurnResult.Cancelled) {
        return new Decision.NoWorker(Decision.NoWorkerReason.STOPPING, "the request was cancelled while it waited");
      }
      LockSupport.parkNanos(MOVE_PAUSE_NANOS);
    }
    return decideAtOnce(cell, request.claiming(null));
  }

  private TurnResult decideInTurn(String cell, DecisionRequest request, Claim claim, Cancellation client) {
    CellView view = views.of(cell);
    if (view == null) {
      return remote.of(cell).decide(request, client);
    }
    RemoteCell before = remote.ifKnown(cell);
    if (before != null) {
      // Those that waited elsewhere come at once, and what is in flight is in their way.
      before.decidedBy(view.incarnation());
    }
    CellAdmission admission = view.admission();
    return admission == null
        ? new TurnResult.Decided(view.decide(request))
        : admission.decide(request, claim, client);
  }

  /** The cell of a plan's other steps, whose workers only one of the same cell can join; null when there are none. */
  private static @Nullable String cellOfOtherSteps(Roster roster, DecisionRequest request) {
    DecisionRequest.StepReplacement replacement = request.constraints().replacement();
    if (replacement != null) {
      for (String worker : replacement.placed().values()) {
        String cell = roster.cellOfWorker(worker);
        if (cell != null) {
          return cell;
        }
      }
    }
    return null;
  }

  private Decision decide(
      Roster now, String cell, DecisionRequest request, BiFunction<String, DecisionRequest, Decision> inCell) {
    Decision decision = inCell.apply(cell, request);
    CellView view = views.of(cell);
    metrics.decided(request, decision, view != null);
    if (decision instanceof Decision.NoWorker none
        && isWithoutHome(none.reason())
        && (partitionPolicy == PartitionPolicy.SERVE || !remote.isCutOff())) {
      Decision instead = fallback.decide(now, cell, request, none.detail(), remote.of(cell)::open);
      metrics.fellBack(request, instead);
      return instead instanceof Decision.Planned planned
          ? planned.from(new Decision.Origin(Decision.Way.FALLBACK, cell, null))
          : instead;
    }
    RemoteCell before = view == null ? null : remote.ifKnown(cell);
    if (view != null && before != null) {
      before.decidedBy(view.incarnation());
    }
    return decision;
  }

  private static boolean isWithoutHome(Decision.NoWorkerReason reason) {
    return reason == Decision.NoWorkerReason.NO_HOME || reason == Decision.NoWorkerReason.CUT_OFF;
  }

  @Override
  public DecisionRecord explain(DecisionRequest request) {
    CellChoice choice = choices.of(roster.get(), request.model());
    return choice == null
        ? DecisionRecorder.withoutCandidates("", request, unknownModel(request))
        : explain(choice, sessions.located(request));
  }

  private DecisionRecord explain(CellChoice choice, DecisionRequest located) {
    return choice.explain(located, clock.nanos(), cell -> explain(cell, located));
  }

  private DecisionRecord explain(String cell, DecisionRequest request) {
    CellView view = views.of(cell);
    return view != null ? view.explain(request) : remote.of(cell).explain(request);
  }

  private static Decision.NoWorker unknownModel(DecisionRequest request) {
    return new Decision.NoWorker(
        Decision.NoWorkerReason.UNKNOWN_MODEL, "no worker serves the model '" + request.model() + "'");
  }

  @Override
  public List<WorkerSummary> workers() {
    return rosterWorkers.all();
  }

  @Override
  public List<WorkerSummary> workers(String model) {
    return rosterWorkers.serving(model);
  }

  @Override
  public Set<String> workerIds() {
    return roster.get().workerIds();
  }

  @Override
  public Set<String> models() {
    Set<String> served = roster.get().models();
    Set<String> known = firstWorkers.models();
    if (served.containsAll(known)) {
      return served;
    }
    Set<String> both = new TreeSet<>(served);
    both.addAll(known);
    return Collections.unmodifiableSet(both);
  }

  /** Whether this node is the home of a cell. */
  boolean isHome(String cell) {
    return views.of(cell) != null;
  }

  /** Where a cell has its home and its standbys, as this node knows; null before its first home has published it. */
  @Nullable CellNodes nodesOf(String cell) {
    return remote.nodesOf(cell);
  }
}
