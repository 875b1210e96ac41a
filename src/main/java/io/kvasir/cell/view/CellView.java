package io.kvasir.cell.view;

import io.kvasir.admission.AdmissionSettings;
import io.kvasir.cell.ClusterStatus;
import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.LearntEngines;
import io.kvasir.cell.ProfileSet;
import io.kvasir.cell.RetentionRelease;
import io.kvasir.cell.WorkerStatus;
import io.kvasir.cell.ledger.LeasedReservations;
import io.kvasir.cell.ledger.LocalReservations;
import io.kvasir.cell.ledger.NextHome;
import io.kvasir.cell.worker.ChangeCounter;
import io.kvasir.cell.worker.Member;
import io.kvasir.cell.worker.MemberDescription;
import io.kvasir.index.BlockIndex;
import io.kvasir.index.Chain;
import io.kvasir.index.SeenPrefixes;
import io.kvasir.programs.ProgramSettings;
import io.kvasir.routing.Worker;
import io.kvasir.routing.cost.Deployment;
import io.kvasir.routing.cost.LearntCost;
import io.kvasir.telemetry.DecisionLog;
import io.kvasir.telemetry.DecisionRecord;
import io.kvasir.time.NanoClock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Supplier;
import org.apache.pekko.Done;
import org.jspecify.annotations.Nullable;

/**
 * A cell as the threads of its home node read it: they decide against it inline, each on its own, and
 * nothing here waits but for the end of a decision on the same new prompt ({@link PrefixStripes}). The members
 * stand in an array that is replaced at each change, so a decision sees one set of them from beginning to
 * end.
 */
public final class CellView {
  private final String cell;
  private final ProfileSet profiles;
  private final CellMetrics metrics;
  private final LearntEngines learntEngines;
  private final PrefixStripes stripes = new PrefixStripes();
  private final CellDecider decider;
  private final @Nullable CellAdmission admission;
  private final @Nullable CellPrograms programs;
  private final long incarnation = ThreadLocalRandom.current().nextLong() | 1;
  private final ChangeCounter changes = new ChangeCounter();
  private final PromptBlockSize promptBlockSize = new PromptBlockSize();
  private final LocalReservations localReservations;
  private final DecisionServer decisionServer;
  private final CompletableFuture<Done> handedOver = new CompletableFuture<>();
  private volatile MemberTable table;
  private volatile List<ClusterStatus.StandbyStatus> standbys = List.of();
  private volatile HealthSnapshot health;

  /**
   * A cell without members.
   *
   * @param decisions where sampled decisions are recorded
   * @param clock measures time
   * @param reservationLease how long what another node holds may live
   * @param programs what is to be known of programs
   * @param releases tells engines what they need not retain of programs
   * @param waiting how requests wait
   * @param nextHome the client of the cell when it has left this node
   * @param holders the other nodes
   * @param learntEngines what is known of workers' engines
   */
  public CellView(
      String cell,
      BlockIndex index,
      ProfileSet profiles,
      CellMetrics metrics,
      DecisionLog decisions,
      NanoClock clock,
      Duration reservationLease,
      ProgramSettings programs,
      RetentionRelease releases,
      AdmissionSettings waiting,
      Supplier<NextHome> nextHome,
      DecisionServer.Holders holders,
      LearntEngines learntEngines) {
    this.cell = cell;
    this.learntEngines = learntEngines;
    this.profiles = profiles;
    this.metrics = metrics;
    this.programs =
        programs.on()
            ? new CellPrograms(
                programs, metrics.programs(), releases, profiles.costs(), clock, this::heldTokens, this::members)
            : null;
    this.localReservations = new LocalReservations(nextHome);
    this.decider =
        new CellDecider(
            cell, this::fleet, profiles, decisions, localReservations, new SeenPrefixes(index.slots()),
            promptBlockSize, this.programs);
    this.admission =
        waiting.on()
            ? new CellAdmission(cell, decider, engines(), waiting, metrics.admission(), this.programs, clock)
            : null;
    this.decisionServer =
        new DecisionServer(this, new LeasedReservations(reservationLease, clock), metrics, holders, clock);
    this.table = MemberTable.in(index);
    this.health = new HealthSnapshot(table, changes.count());
    metrics.watch(cell, index, this);
  }

  private GateCheck.Engines engines() {
    return new GateCheck.Engines() {
      @Override
      public boolean isCostKnown(Worker worker) {
        return profiles.costs().isKnown(worker.deployment());
      }

      @Override
      public double readMs(int slot) {
        Member member = members()[slot];
        return member == null ? 0 : member.readMs();
      }

      @Override
      public double queueMs(Worker worker, String model) {
        Member member = members()[worker.slot()];
        return member != null && member.isRoutable() && member.worker().equals(worker)
                && worker.models().contains(model)
            ? member.load().queueMs() - member.readMs()
            : Double.POSITIVE_INFINITY;
      }

      @Override
      public GateCheck.Places places(Worker one, String model, double mostQueueMs) {
        int all = 0;
        int free = 0;
        for (Member member : members()) {
          if (member != null && member.isRoutable() && member.worker().role() == one.role()
              && member.worker().models().contains(model)) {
            int most = member.worker().maxInFlight();
            all += most;
            boolean isOpen =
                member.worker().equals(one) || !isCostKnown(member.worker())
                    || member.load().queueMs() - member.readMs() <= mostQueueMs;
            free += isOpen ? Math.max(0, most - member.load().inFlight()) : 0;
          }
        }
        return new GateCheck.Places(all, free);
      }
    };
  }

  /** The cell's name. */
  String cell() {
    return cell;
  }

  /** The identity of this home among those the cell has had; never {@code RemoteReservation.NONE}. */
  public long incarnation() {
    return incarnation;
  }

  /** Counts the changes of members that make a new {@link HealthSnapshot}. */
  public ChangeCounter changes() {
    return changes;
  }

  /** By slot. */
  public @Nullable Member[] members() {
    return table.members();
  }

  /** Puts a member into a slot, or empties it. Called by the cell's actor alone. */
  public void setMember(int slot, @Nullable Member member) {
    table = table.with(slot, member);
  }

  /** Moves all members to the same slots of a wider index. Called by the cell's actor alone. */
  public void moveTo(BlockIndex wider) {
    table = table.withIndex(wider);
    metrics.watch(cell, wider, this);
  }

  /** A snapshot of the cell for a decision that begins now. */
  public CellFleet fleet() {
    MemberTable current = table;
    long now = changes.count();
    HealthSnapshot known = health;
    if (!known.isCurrent(current, now)) {
      known = new HealthSnapshot(current, now);
      health = known;
    }
    return new CellFleet(current, known, stripes, learntEngines);
  }

  /** Decides for a request of this node. */
  public Decision decide(DecisionRequest request) {
    return decider.decide(request, true);
  }

  /** Decides for a request of another node, which declares to the cell's next home what it has in flight. */
  Decision decideForPeer(DecisionRequest request) {
    return decider.decide(request, false);
  }

  /** Explains how a decision would come about: nothing is booked, and no plugin remembers it. */
  public DecisionRecord explain(DecisionRequest request) {
    return admission == null ? decider.explain(request, null) : admission.explain(request);
  }

  /** Into how many tokens the prompts that are decided here are cut. */
  public PromptBlockSize promptBlockSize() {
    return promptBlockSize;
  }

  /** Serves the requests of other nodes. */
  public DecisionServer decisionServer() {
    return decisionServer;
  }

  /** Declares this node's open reservations to the cell's next home: the cell has moved, this node stays up. */
  public void handOver() {
    localReservations.handOver();
    handedOver.complete(Done.getInstance());
  }

  /** Completes when the cell has left this node, after {@link #handOver}. */
  public CompletionStage<Done> handedOver() {
    return handedOver.minimalCompletionStage();
  }

  /** Where requests wait for their turns; null when none ever does. */
  public @Nullable CellAdmission admission() {
    return admission;
  }

  /** Who waits here. */
  public ClusterStatus.WaitingStatus waiting() {
    return new ClusterStatus.WaitingStatus(
        admission == null ? List.of() : admission.waiting(), programs == null ? null : programs.status(),
        admission == null ? List.of() : admission.backlog());
  }

  /** A worker may have room again. */
  public void roomChanged() {
    if (admission != null) {
      admission.roomChanged();
    }
  }

  /** Dismisses the requests that wait: the cell has moved, or this node stops. */
  public void closeAdmission() {
    if (admission != null) {
      admission.close();
    }
  }

  /** Whether no request waits or is in flight here, of whichever node. */
  public boolean isIdle() {
    return localReservations.isEmpty()
        && decisionServer.leased().isEmpty()
        && (admission == null || admission.room().isEmpty());
  }

  /** Whether the health of every worker is known since the cell came to this node. */
  public boolean isWorkerHealthKnown() {
    return table.isHealthKnown();
  }

  /**
   * How far the workers of a model hold the beginnings of chains: for each chain, in their order, the depth of every
   * worker that holds its first block.
   */
  public List<List<Integer>> heldPrefixes(String model, List<Chain> chains) {
    return table.heldPrefixes(model, chains);
  }

  /** The cell's programs; null when they are not recognised. */
  public @Nullable CellPrograms programs() {
    return programs;
  }

  private int heldTokens(DecisionRequest request) {
    Chain chain = request.prompt().chain();
    List<Integer> held = heldPrefixes(request.model(), List.of(chain)).getFirst();
    return held.stream().mapToInt(depth -> depth).max().orElse(0) * chain.blockSize();
  }

  /** The pressure on the cell. */
  public CellPressure pressure() {
    CellFleet fleet = fleet();
    return CellPressure.of(fleet.table().members(), fleet.health());
  }

  /**
   * Whether a member may be left out because of its error answers: at least a third of those that could do its work
   * would still get requests.
   */
  public boolean canSpare(Member member) {
    CellFleet fleet = fleet();
    int slot = member.worker().slot();
    return slot < fleet.slots() && member.equals(fleet.table().members()[slot]) && fleet.health().canSpare(slot);
  }

  /** The state of the cell's replicas on other nodes, as of a moment ago. */
  public List<ClusterStatus.StandbyStatus> standbys() {
    return standbys;
  }

  /** Publishes the state of the cell's replicas. Called by the cell's actor alone. */
  public void standbys(List<ClusterStatus.StandbyStatus> now) {
    standbys = now;
  }

  /** The health of each of the cell's workers, by worker id. */
  public Map<String, WorkerStatus.Health> workerHealth() {
    Map<String, WorkerStatus.Health> health = new HashMap<>();
    for (Member member : members()) {
      if (member != null) {
        health.put(member.worker().id(), member.healthState().health());
      }
    }
    return health;
  }

  /** How often each worker was lost, by worker id; those that never were are left out. */
  public Map<String, Integer> workerLosses() {
    Map<String, Integer> losses = new HashMap<>();
    for (Member member : members()) {
      if (member != null && member.losses() > 0) {
        losses.put(member.worker().id(), member.losses());
      }
    }
    return losses;
  }

  /** The cell's workers with their state. */
  public List<WorkerStatus> workers() {
    List<WorkerStatus> workers = new ArrayList<>();
    Map<Deployment, LearntCost> learnt = profiles.costs().learnt();
    for (Member member : members()) {
      if (member != null) {
        Deployment deployment = member.worker().deployment();
        double answerTokens = profiles.outputs().expected(deployment.model());
        LearntCost cost = learnt.get(deployment);
        LearntCost own = cost == null ? null : cost.paced(profiles.costs().pace(member.worker().instance()));
        workers.add(MemberDescription.of(member, cell, own, metrics.workers().answers(member), answerTokens));
      }
    }
    return workers;
  }
}
