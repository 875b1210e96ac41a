package io.kvasir.cell.home;

import io.kvasir.cell.ClusterMessage;
import io.kvasir.cell.ClusterStatus;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.HealthChange;
import io.kvasir.cell.WorkerStatus;
import io.kvasir.cell.directory.CellNodes;
import io.kvasir.cell.directory.Directory;
import io.kvasir.cell.directory.NodeNames;
import io.kvasir.cell.directory.PodEntry;
import io.kvasir.cell.directory.Roster;
import io.kvasir.cell.ledger.InFlightLoad;
import io.kvasir.cell.ledger.LeasedReservations;
import io.kvasir.cell.ledger.OpenReservations;
import io.kvasir.cell.ledger.ReservationEvent;
import io.kvasir.cell.standby.CellReplica;
import io.kvasir.cell.standby.Standby;
import io.kvasir.cell.view.CellPrograms;
import io.kvasir.cell.view.CellView;
import io.kvasir.cell.view.DecisionReply;
import io.kvasir.cell.view.DecisionServer;
import io.kvasir.cell.worker.Member;
import io.kvasir.index.Chain;
import io.kvasir.telemetry.DecisionRecord;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.PostStop;
import org.apache.pekko.actor.typed.Scheduler;
import org.apache.pekko.actor.typed.javadsl.AbstractBehavior;
import org.apache.pekko.actor.typed.javadsl.ActorContext;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.actor.typed.javadsl.Receive;
import org.apache.pekko.actor.typed.javadsl.TimerScheduler;
import org.apache.pekko.cluster.ClusterEvent;
import org.apache.pekko.cluster.sharding.typed.javadsl.EntityTypeKey;
import org.apache.pekko.cluster.typed.Cluster;
import org.apache.pekko.cluster.typed.Subscribe;
import org.jspecify.annotations.Nullable;
import scala.concurrent.ExecutionContext;

/**
 * A cell on its home node: the sharded entity that owns the members, their event actors, and the reservations that
 * other nodes hold. Its {@link CellView} is published while it runs, so that threads of this node decide without a
 * message to it; decisions for other nodes come as messages, or over peer connections to the view.
 */
public final class Cell extends AbstractBehavior<Cell.Message> {
  public static final EntityTypeKey<Message> KEY = EntityTypeKey.create(Message.class, "cell");

  private static final Duration TICK = Duration.ofMillis(250);

  /** The messages to a cell. Those that cross the cluster are also {@link ClusterMessage}s. */
  public sealed interface Message {}

  /** Starts the entity where it is not running; otherwise nothing. */
  public record Start() implements Message, ClusterMessage {}

  /**
   * Decides for another node.
   *
   * @param node the node that will hold the reservation: its address and incarnation
   * @param correlationId the node's own id of the request
   */
  public record Decide(DecisionRequest request, String node, long correlationId, ActorRef<DecisionReply> replyTo)
      implements Message, ClusterMessage {}

  /**
   * Fetches the results of waiting requests of another node; it is repeated while any of them waits.
   *
   * @param correlationIds the node's own ids of the requests
   */
  public record FetchTurns(String node, List<Long> correlationIds, ActorRef<Turns> replyTo)
      implements Message, ClusterMessage {}

  /** The reply to {@link FetchTurns}: the results that there are, and the requests that are not known. */
  public record Turns(List<DecisionServer.TurnReply> over) implements ClusterMessage {}

  /**
   * Fetches what there is to know of held requests of another node; it is repeated while any of them is held.
   *
   * @param reservations the node's own ids of what is booked for them
   */
  public record FetchHolds(String node, List<Long> reservations, ActorRef<Holds> replyTo)
      implements Message, ClusterMessage {}

  /** The reply to {@link FetchHolds}: those that are to be held no longer. */
  public record Holds(List<DecisionServer.HoldReply> over) implements ClusterMessage {}

  /** Gives back what was booked for a request whose reply the node does not wait for any more. */
  public record Abandon(String node, long correlationId) implements Message, ClusterMessage {}

  /** Explains to another node how a decision would come about. */
  public record Explain(DecisionRequest request, ActorRef<Explained> replyTo) implements Message, ClusterMessage {}

  /** The reply to {@link Explain}. */
  public record Explained(DecisionRecord record) implements ClusterMessage {}

  /** What has become of reservations that are held for another node, in order. */
  public record ReservationEvents(String node, List<ReservationEvent> events) implements Message, ClusterMessage {}

  /**
   * What another node has in flight on the cell's workers, as far as this home cannot know of it.
   *
   * @param home the incarnation that it is declared to; another one gets a declaration of its own, and must not take
   *     for open what this one has seen the end of
   */
  public record Declare(String node, long home, List<InFlightLoad> loads) implements Message, ClusterMessage {}

  /** Declares the reservations that another node has open; answered when what it has no more is given back. */
  public record DeclareOpen(String node, OpenReservations open, ActorRef<OpenDeclared> replyTo)
      implements Message, ClusterMessage {}

  /** The reply to {@link DeclareOpen}. */
  public record OpenDeclared() implements ClusterMessage {}

  /** Begins to replicate the cell to a node that is to hold a replica. */
  public record ReplicaRequested(String node, ActorRef<Standby.Message> standby) implements Message, ClusterMessage {}

  /** Prepares the cell to move to another node, for balance. */
  public record MoveTo(String node) implements Message, ClusterMessage {}

  /** Prepares the cell for the leaving of a node; answered when it may move, if that node is its home. */
  public record Leave(String node, ActorRef<LeaveReady> replyTo) implements Message, ClusterMessage {}

  /** The reply to {@link Leave}. */
  public record LeaveReady() implements ClusterMessage {}

  /** Describes the cell to another node. */
  public record Describe(ActorRef<Description> replyTo) implements Message, ClusterMessage {}

  /**
   * The reply to {@link Describe}.
   *
   * @param workers the cell's workers
   * @param home address of the cell's home; null from a node of an earlier version
   * @param standbys its replicas; null from a node of an earlier version
   * @param waiting who waits there; null from a node of an earlier version
   */
  public record Description(
      List<WorkerStatus> workers,
      @Nullable String home,
      @Nullable List<ClusterStatus.StandbyStatus> standbys,
      ClusterStatus.@Nullable WaitingStatus waiting)
      implements ClusterMessage {}

  /** Tells another node how the health of a pod's workers changed, as far as this home has seen it. */
  public record DescribeHealth(String pod, ActorRef<HealthHistory> replyTo) implements Message, ClusterMessage {}

  /** The reply to {@link DescribeHealth}: the last changes, newest first. */
  public record HealthHistory(List<HealthChange> changes) implements ClusterMessage {}

  /** Tells another node how far the workers of a model hold the beginnings of chains. */
  public record DescribeHeld(String model, List<Chain> chains, ActorRef<Held> replyTo)
      implements Message, ClusterMessage {}

  /** The reply to {@link DescribeHeld}: for each chain the depth of every worker that holds its first block. */
  public record Held(List<List<Integer>> depths) implements ClusterMessage {}

  private record RosterChanged(Roster roster) implements Message {}

  private record NodeRemoved(String node) implements Message {}

  /**
   * A worker that another node streams from makes progress.
   *
   * @param slot as that node has it; nodes of an earlier version look it up by this, too
   */
  public record WorkerProgressed(int slot, String worker) implements Message, ClusterMessage {}

  /** Runs a task of a part of the cell on the cell's actor. */
  private record RunTask(Runnable task) implements Message {}

  private enum Tick implements Message { INSTANCE }

  private final String name;
  private final CellServices services;
  private final CellView view;
  private final Members members;

  private final LeasedReservations leased;
  private final HealthMonitor health;
  private final EventActors events;
  private final IndexResizer resizer;
  private final IndexUpkeep upkeep;
  private final SlotReclaimer reclaimer;
  private final Standbys standbys;
  private final Vacancy vacancy;
  private final Consumer<ActorRef<Message>> passivate;
  private Roster roster = Roster.EMPTY;

  private Cell(
      ActorContext<Message> context,
      TimerScheduler<Message> timers,
      String name,
      CellServices services,
      Consumer<ActorRef<Message>> passivate) {
    super(context);
    ActorRef<Message> self = context.getSelf();
    Executor onActor = work -> self.tell(new RunTask(work));
    this.name = name;
    this.services = services;
    this.passivate = passivate;
    this.vacancy = new Vacancy(name);
    CellReplica.WarmState copy = services.replication().replicas().takeOver(name);
    this.members = copy == null ? new Members(name, services) : new Members(name, services, copy);
    this.view = members.view();
    this.leased = view.decisionServer().leased();
    this.health = new HealthMonitor(members, services, onActor, this::processLost, context.getLog());
    this.events =
        new EventActors(
            services,
            actor -> context.spawnAnonymous(actor, WorkerEvents.DISPATCHER),
            member -> onActor.execute(() -> health.onStreamLost(member)));
    Runnable again = () -> apply(roster);
    this.resizer = new IndexResizer(name, members, events, services, onActor, again, context.getLog());
    this.upkeep =
        new IndexUpkeep(
            members, events, resizer, view.promptBlockSize(), services.metrics().workers(), context.getLog());
    this.reclaimer = new SlotReclaimer(members, services.background(), onActor, again);
    Scheduler scheduler = context.getSystem().scheduler();
    ExecutionContext threads = context.getExecutionContext();
    this.standbys =
        new Standbys(
            name,
            members,
            events,
            services,
            (after, work) -> scheduler.scheduleOnce(after, () -> onActor.execute(work), threads),
            context.getLog());
    services.directory().tell(
        new Directory.Subscribe(context.messageAdapter(Roster.class, RosterChanged::new)));
    Cluster.get(context.getSystem())
        .subscriptions()
        .tell(
            Subscribe.create(
                context.messageAdapter(
                    ClusterEvent.MemberRemoved.class,
                    removed -> new NodeRemoved(NodeNames.of(removed.member().uniqueAddress()))),
                ClusterEvent.MemberRemoved.class));
    view.promptBlockSize().whenKnown(() -> onActor.execute(() -> upkeep.cutBlocks(services.clock().nanos())));
    timers.startTimerWithFixedDelay(Tick.INSTANCE, TICK);
    apply(services.roster().get());
    services.views().publish(name, view);
    standbys.check(services.clock().nanos());
    started(copy);
  }

  /**
   * A cell whose home is this node until it is stopped.
   *
   * @param passivate has the cell stopped, which is without pods and of which no node has a replica any more; what is
   *     sent to it from then on starts it again
   */
  public static Behavior<Message> create(
      String name, CellServices services, Consumer<ActorRef<Message>> passivate) {
    return Behaviors.setup(
        context -> Behaviors.withTimers(timers -> new Cell(context, timers, name, services, passivate)));
  }

  private String address() {
    return NodeNames.hostAndPort(Cluster.get(getContext().getSystem()).selfMember().address());
  }

  private void started(CellReplica.@Nullable WarmState copy) {
    CellNodes before = services.replication().nodesByCell().of(name);
    String self = services.replication().node();
    String kind =
        before == null || before.home().equals(self) ? "first"
            : copy == null ? "cold"
            : self.equals(before.movingTo()) ? "planned"
            : "standby";
    services.metrics().homeStarted(kind);
    getContext()
        .getLog()
        .info(
            "this node is the home of cell {}{}",
            name,
            copy == null ? "" : ", with a replica of " + copy.workers().size() + " workers");
  }

  @Override
  public Receive<Message> createReceive() {
    return newReceiveBuilder()
        .onMessage(Message.class, this::on)
        .onSignal(PostStop.class, stopped -> stopped())
        .build();
  }

  private Behavior<Message> on(Message message) {
    switch (message) {
      case Start ignored -> {}
      case Decide decide ->
          decide.replyTo().tell(view.decisionServer().decide(decide.request(), decide.node(), decide.correlationId()));
      case Abandon abandon -> view.decisionServer().abandon(abandon.node(), abandon.correlationId());
      case FetchTurns fetch ->
          fetch.replyTo().tell(new Turns(view.decisionServer().turns(fetch.node(), fetch.correlationIds())));
      // What engines have reported is read under a lock.
      case FetchHolds fetch -> services.background().execute(() ->
          fetch.replyTo().tell(new Holds(view.decisionServer().holdsOver(fetch.node(), fetch.reservations()))));
      case Explain explain -> explain.replyTo().tell(new Explained(view.decisionServer().explain(explain.request())));
      case ReservationEvents events -> events.events().forEach(event -> leased.apply(events.node(), event));
      case Declare declare -> {
        if (declare.home() == view.incarnation()) {
          declare.loads().forEach(load -> leased.adopt(declare.node(), load, members::adopt));
        }
      }
      case DeclareOpen declare -> {
        view.decisionServer().reconcile(declare.node(), declare.open());
        declare.replyTo().tell(new OpenDeclared());
      }
      case Describe describe -> describe.replyTo().tell(
          new Description(view.workers(), address(), view.standbys(), view.waiting()));
      case DescribeHealth(String pod, var replyTo) ->
          replyTo.tell(new HealthHistory(services.views().healthLog().ofPod(pod)));
      case DescribeHeld(String model, List<Chain> chains, var replyTo) ->
          replyTo.tell(new Held(view.heldPrefixes(model, chains)));
      case ReplicaRequested(String node, var standby) -> standbys.replicaRequested(node, standby);
      case MoveTo move -> standbys.moveTo(move.node());
      case Leave leave -> standbys.prepareLeave(leave.node(), () -> leave.replyTo().tell(new LeaveReady()));
      case RosterChanged changed -> apply(changed.roster());
      case NodeRemoved removed -> view.decisionServer().abandonAllOf(removed.node());
      case WorkerProgressed progressed -> members.named(progressed.worker()).ifPresent(Member::progressed);
      case RunTask run -> run.task().run();
      case Tick ignored -> tick();
    }
    return this;
  }

  private void apply(Roster now) {
    roster = now;
    Map<String, PodEntry> entries = roster.ofCell(name);
    for (Member member : members.all()) {
      PodEntry entry = entries.get(member.pod().name());
      if (entry != null && !entry.spec().equals(member.pod())) {
        health.described(member, entry.spec());
        if (member.pod().hasSameEngine(entry.spec())) {
          members.describe(member, entry.spec());
        }
      }
      if (entry == null || !entry.spec().equals(member.pod())) {
        remove(member);
      } else {
        member.drain(entry.draining());
      }
    }
    if (!resizer.isActive()) {
      entries.values().forEach(this::add);
      if (!entries.isEmpty()) {
        members.retireUnclaimed().forEach(reclaimer::add);
      }
      leased.adoptEarly(members::adopt);
      resizer.makeRoom(roster.slotsTaken(name));
    }
  }

  /** Admits those ranks of a pod that are not members yet; one that finds no free slot is tried again later. */
  private void add(PodEntry entry) {
    for (Member member : members.admit(entry)) {
      events.start(member, members.takeCheckpoint(member));
      upkeep.memberAdded(member);
      getContext().getLog().info("worker {} was added to cell {} in slot {}", member.worker().id(), name,
          member.worker().slot());
    }
  }

  private void remove(Member member) {
    Members.Retired retired = members.retire(member);
    health.memberRemoved(member);
    upkeep.memberRemoved(member);
    getContext().getLog().info("worker {} was removed from cell {}", member.worker().id(), name);
    ActorRef<Message> self = getContext().getSelf();
    events.stop(member, () -> self.tell(new RunTask(() -> reclaimer.add(retired))));
    resizer.memberRemoved();
  }

  private void tick() {
    long now = services.clock().nanos();
    view.decisionServer().expire();
    resizer.abandonOverdue(now);
    upkeep.check(now);
    CellPrograms programs = view.programs();
    if (programs != null) {
      programs.expire();
    }
    health.check(now);
    if (isToEnd(now)) {
      standbys.withdraw(this::end);
    } else {
      standbys.check(now);
    }
  }

  private boolean isToEnd(long now) {
    return vacancy.isOver(roster, view.isIdle(), now);
  }

  /** Frees the index and what else is kept of the cell, unless it has pods again. */
  private void end() {
    if (isToEnd(services.clock().nanos())) {
      getContext().getLog().info("cell {} ends, it has had no pods for {} min", name, Vacancy.MOST.toMinutes());
      passivate.accept(getContext().getSelf());
    }
  }

  private void processLost(Member member) {
    upkeep.processLost(member);
  }

  private Behavior<Message> stopped() {
    services.views().withdraw(name, view);
    view.closeAdmission();
    CellPrograms programs = view.programs();
    if (programs != null) {
      programs.close();
    }
    view.handOver();
    services.metrics().unwatch(name);
    members.close();
    return this;
  }
}
