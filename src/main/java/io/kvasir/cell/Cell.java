package io.kvasir.cell;

import io.kvasir.index.WorkerBlocks;
import io.kvasir.routing.RoutingPlan;
import io.kvasir.telemetry.DecisionRecord;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.PostStop;
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

/**
 * A cell at home on this node: the sharded entity that owns the members, their event actors, and the
 * reservations that other nodes hold. It keeps its {@link CellView} published while it lives, so that
 * threads of this node decide without asking it; decisions for other nodes come as messages.
 */
final class Cell extends AbstractBehavior<Cell.Message> {
  static final EntityTypeKey<Message> KEY = EntityTypeKey.create(Message.class, "cell");

  private static final Duration TICK = Duration.ofMillis(250);

  /** A rebuild into a wider index takes a second at most; one that takes this long has lost somebody. */
  private static final Duration LONGEST_WIDENING = Duration.ofSeconds(60);

  /** What a cell is told. Those that cross the cluster are also {@link ClusterMessage}s. */
  sealed interface Message {}

  /** Starts the entity where it is not running; otherwise nothing. */
  record Wake() implements Message, ClusterMessage {}

  /**
   * Another node wants a decision.
   *
   * @param node the node that will hold the reservation: its address and incarnation
   * @param ticket the node's own number of the question
   */
  record Decide(DecisionRequest request, String node, long ticket, ActorRef<Decided> replyTo)
      implements Message, ClusterMessage {}

  /** A node does not wait for the answer to its question any more: what was booked for it is given back. */
  record Abandon(String node, long ticket) implements Message, ClusterMessage {}

  /**
   * The decision for another node; without steps there is no worker, and {@code why} then says why.
   *
   * @param home the incarnation of the home that decided
   * @param reason of a plan, or what there is none for, in plain words
   */
  record Decided(
      long home,
      @Nullable String workflow,
      RoutingPlan.@Nullable Order order,
      @Nullable List<DecidedStep> steps,
      String reason,
      Decision.@Nullable Why why)
      implements ClusterMessage {}

  /** A step of a {@link Decided}, whose load the cell holds under the name of the question's step. */
  record DecidedStep(
      RoutingPlan.Step step,
      int depth,
      int predictedCachedTokens,
      int confirmedCachedTokens,
      boolean suspect) {}

  /** Another node wants to know how a decision would come about. */
  record Explain(DecisionRequest request, ActorRef<Explained> replyTo) implements Message, ClusterMessage {}

  /** How it would. */
  record Explained(DecisionRecord record) implements ClusterMessage {}

  /** Another node has seen the first token of a request it holds a reservation for. */
  record FirstToken(String node, long reservation) implements Message, ClusterMessage {}

  /** The prompt of a request of another node is not handed over to the worker after all. */
  record ReadsPrompt(String node, long reservation) implements Message, ClusterMessage {}

  /** A request of another node is over. */
  record Close(String node, long reservation, WireOutcome outcome) implements Message, ClusterMessage {}

  /** What another node has in flight on the cell's workers, as far as this home cannot know of it. */
  record Declare(String node, List<OpenLoad> loads) implements Message, ClusterMessage {}

  /** Another node wants to know the cell's workers. */
  record Describe(ActorRef<Description> replyTo) implements Message, ClusterMessage {}

  /**
   * The cell's workers.
   *
   * @param home address of the node where it is at home; null from a node that does not tell yet
   */
  record Description(List<WorkerStatus> workers, @Nullable String home) implements ClusterMessage {}

  private record RosterChanged(Roster roster) implements Message {}

  private record NodeRemoved(String node) implements Message {}

  /** A worker that another node streams from moves. */
  record Moved(int slot, String worker) implements Message, ClusterMessage {}

  /**
   * What came of a probe.
   *
   * @param well whether the pod answered with success
   * @param failure why it could not be asked, null when it could
   * @param askedNanos when it was asked
   */
  private record Probed(Member member, boolean well, @Nullable Throwable failure, long askedNanos)
      implements Message {}

  /** What a pod's engine says of its load by rank; null when it did not say. */
  private record Reported(String pod, @Nullable Map<Integer, EngineReport> reports) implements Message {}

  /** The transport of a worker's events lost its engine. */
  private record StreamLost(Member member) implements Message {}

  /** A request found that a pod cannot be reached. */
  private enum ContactLost implements Message { INSTANCE }

  /** A worker's blocks are in the wider index, too, and its events wait. */
  private record HandedOver(Widening widening, Member member) implements Message {}

  /** What is predicted of the workers goes to the wider index from now on. */
  private record Succeeded(Widening widening) implements Message {}

  /** Nothing is written for a retired worker any more. */
  private record Left(Members.Retired worker) implements Message {}

  /** Everything these retired workers held has been cleared from the index. */
  private record Swept(List<Members.Retired> workers) implements Message {}

  private enum Tick implements Message { INSTANCE }

  private final String name;
  private final CellServices services;
  private final CellView view;
  private final Members members;
  private final HeldReservations held;
  private final Reports reports;
  private final Map<Member, ActorRef<WorkerEvents.Message>> streams = new HashMap<>();
  private final Map<String, Long> probeDueNanos = new HashMap<>();
  private final Set<String> probing = new HashSet<>();
  private Roster roster = Roster.EMPTY;
  private @Nullable Widening widening;
  private final List<Members.Retired> unswept = new ArrayList<>();
  private boolean sweeping;

  private Cell(ActorContext<Message> context, TimerScheduler<Message> timers, String name, CellServices services) {
    super(context);
    this.name = name;
    this.services = services;
    this.members = new Members(name, services);
    this.view = members.view();
    this.held = new HeldReservations(services.settings().reservationLease(), services.nanos());
    this.reports = new Reports(services.settings().health().reports());
    services.directory().tell(
        new Directory.Subscribe(context.messageAdapter(Roster.class, RosterChanged::new)));
    Cluster.get(context.getSystem())
        .subscriptions()
        .tell(
            Subscribe.create(
                context.messageAdapter(
                    ClusterEvent.MemberRemoved.class,
                    removed -> new NodeRemoved(nodeName(removed.member().uniqueAddress()))),
                ClusterEvent.MemberRemoved.class));
    timers.startTimerWithFixedDelay(Tick.INSTANCE, TICK);
    ActorRef<Message> self = context.getSelf();
    members.onLost(() -> self.tell(ContactLost.INSTANCE));
    services.views().publish(name, view);
    context.getLog().info("cell {} is at home here", name);
  }

  static Behavior<Message> create(String name, CellServices services) {
    return Behaviors.setup(
        context -> Behaviors.withTimers(timers -> new Cell(context, timers, name, services)));
  }

  /** How a node is named to people. */
  static String hostAndPort(org.apache.pekko.actor.Address address) {
    return address.getHost().orElse("") + ":" + address.getPort().orElse(0);
  }

  /** How a node is named in reservations: its address and incarnation. */
  static String nodeName(org.apache.pekko.cluster.UniqueAddress address) {
    return address.address() + "#" + address.longUid();
  }

  private String address() {
    return hostAndPort(Cluster.get(getContext().getSystem()).selfMember().address());
  }

  @Override
  public Receive<Message> createReceive() {
    return newReceiveBuilder()
        .onMessage(Message.class, this::on)
        .onSignal(PostStop.class, stopped -> left())
        .build();
  }

  private Behavior<Message> on(Message message) {
    switch (message) {
      case Wake ignored -> {}
      case Decide decide -> decide.replyTo().tell(decide(decide));
      case Abandon abandon -> held.abandon(abandon.node(), abandon.ticket());
      case Explain explain -> explain.replyTo().tell(new Explained(view.explain(explain.request())));
      case FirstToken token -> held.firstToken(token.node(), token.reservation());
      case ReadsPrompt reads -> held.readsPrompt(reads.node(), reads.reservation());
      case Close close -> held.close(close.node(), close.reservation(), close.outcome().outcome());
      case Declare declare ->
          declare.loads().forEach(load -> held.adopt(declare.node(), load, members::adopt));
      case Describe describe -> describe.replyTo().tell(new Description(view.workers(), address()));
      case RosterChanged changed -> apply(changed.roster());
      case NodeRemoved removed -> held.closeAllOf(removed.node());
      case Probed probed -> probed(probed);
      case Reported report -> {
        long now = services.nanos().getAsLong();
        boolean read = reports.answered(report.pod(), report.reports(), members.all(), now);
        services.metrics().reported(report.pod(), read);
      }
      case StreamLost lost -> streamLost(lost.member());
      case ContactLost _ -> probe();
      case Moved moved -> members.at(moved.slot(), moved.worker()).ifPresent(Member::moved);
      case HandedOver handed -> {
        handed.widening().handedOver(handed.member());
        succeed();
      }
      case Succeeded done -> moveTo(done.widening());
      case Left left -> {
        unswept.add(left.worker());
        sweep();
      }
      case Swept swept -> {
        swept.workers().forEach(worker -> members.free(worker.slot()));
        sweeping = false;
        sweep();
        apply(roster);
      }
      case Tick ignored -> tick();
    }
    return this;
  }

  private Decided decide(Decide decide) {
    return switch (view.decide(decide.request())) {
      case Decision.Planned planned ->
          new Decided(
              view.incarnation(), planned.workflow(), planned.order(), hold(decide, planned), planned.reason(), null);
      case Decision.NoWorker none ->
          new Decided(view.incarnation(), null, null, null, none.detail(), none.why());
    };
  }

  private List<DecidedStep> hold(Decide decide, Decision.Planned planned) {
    for (int step = 0; step < planned.steps().size(); step++) {
      held.hold(
          decide.node(), Tickets.reservation(decide.ticket(), step), planned.steps().get(step).reservation());
    }
    return planned.steps().stream().map(Cell::decided).toList();
  }

  private static DecidedStep decided(Decision.Chosen chosen) {
    return new DecidedStep(
        chosen.step(),
        chosen.depth(),
        chosen.predictedCachedTokens(),
        chosen.confirmedCachedTokens(),
        chosen.suspect());
  }

  private void apply(Roster now) {
    roster = now;
    Map<String, PodEntry> wanted = roster.ofCell(name);
    for (Member member : members.all()) {
      PodEntry entry = wanted.get(member.pod().spec().name());
      if (entry == null || !entry.spec().equals(member.pod().spec())) {
        remove(member);
      } else {
        member.drain(entry.draining());
      }
    }
    if (widening == null) {
      wanted.values().forEach(this::add);
      held.adoptEarly(members::adopt);
      int workers = roster.slotsTaken(name);
      if (members.mustWiden(workers)) {
        widen(workers);
      } else if (workers > CellSettings.MOST_SLOTS) {
        getContext()
            .getLog()
            .error(
                "cell {} has {} workers in the roster and room for {}: the others get no requests; remove pods, or"
                    + " give some of them another base model",
                name, workers, CellSettings.MOST_SLOTS);
      }
    }
  }

  /** Begins to rebuild the index; those that join meanwhile find a slot when it is done. */
  private void widen(int workers) {
    Widening begun = members.widen(workers);
    widening = begun;
    getContext()
        .getLog()
        .info("cell {} has {} workers: its index becomes {} slots wide", name, workers, begun.index().slots());
    ActorRef<Message> self = getContext().getSelf();
    begun.heirs().forEach((member, heir) -> {
      ActorRef<WorkerEvents.Message> stream = streams.get(member);
      if (stream != null) {
        begun.asked(member);
        stream.tell(new WorkerEvents.HandOverTo(heir, () -> self.tell(new HandedOver(begun, member))));
      }
    });
    succeed();
  }

  /** Goes on when all workers have handed over. */
  private void succeed() {
    Widening begun = widening;
    if (begun != null && begun.complete()) {
      ActorRef<Message> self = getContext().getSelf();
      Map<Member, WorkerBlocks> heirs = Map.copyOf(begun.heirs());
      services.background().execute(() -> {
        Widening.succeed(heirs);
        self.tell(new Succeeded(begun));
      });
    }
  }

  private void moveTo(Widening done) {
    members.moveTo(done);
    widening = null;
    streams.values().forEach(stream -> stream.tell(WorkerEvents.GoOn.INSTANCE));
    getContext()
        .getLog()
        .info(
            "cell {} decides from an index of {} slots after {} ms",
            name, done.index().slots(), (services.nanos().getAsLong() - done.startedNanos()) / 1_000_000);
    apply(roster);
  }

  /** Stays with the narrow index when a worker does not hand over; the next change of the roster tries again. */
  private void giveUpWidening(long now) {
    if (widening != null
        && widening.isWaiting()
        && now - widening.startedNanos() > LONGEST_WIDENING.toNanos()) {
      members.stay();
      widening = null;
      streams.values().forEach(stream -> stream.tell(WorkerEvents.GoOn.INSTANCE));
      getContext()
          .getLog()
          .error("the index of cell {} could not be made wider: not every worker's events actor answered", name);
    }
  }

  /** Takes in those ranks of a pod that are not members yet; what finds no free slot is tried again later. */
  private void add(PodEntry entry) {
    ActorRef<Message> self = getContext().getSelf();
    for (Member member : members.admit(entry)) {
      if (!entry.spec().events().isEmpty()) {
        ActorRef<WorkerEvents.Message> stream =
            getContext()
                .spawnAnonymous(
                    WorkerEvents.create(member, services.eventSources(), () -> self.tell(new StreamLost(member))),
                    WorkerEvents.DISPATCHER);
        streams.put(member, stream);
      }
      getContext().getLog().info("worker {} joins cell {} in slot {}", member.worker().id(), name,
          member.worker().slot());
    }
  }

  private void remove(Member member) {
    Members.Retired retired = members.retire(member);
    probeDueNanos.remove(member.worker().id());
    ActorRef<WorkerEvents.Message> stream = streams.remove(member);
    getContext().getLog().info("worker {} leaves cell {}", member.worker().id(), name);
    // The event actor may be in the middle of a batch: what it holds is swept once it has stopped.
    ActorRef<Message> self = getContext().getSelf();
    if (stream == null) {
      self.tell(new Left(retired));
    } else {
      stream.tell(new WorkerEvents.Stop(() -> self.tell(new Left(retired))));
    }
    succeed();
  }

  /** One sweep at a time, of all that have left until then: it passes through the whole index. */
  private void sweep() {
    if (sweeping || unswept.isEmpty()) {
      return;
    }
    sweeping = true;
    ActorRef<Message> self = getContext().getSelf();
    List<Members.Retired> workers = List.copyOf(unswept);
    unswept.clear();
    services.background().execute(() -> {
      Members.sweep(workers);
      self.tell(new Swept(workers));
    });
  }

  private void tick() {
    long now = services.nanos().getAsLong();
    held.expire();
    giveUpWidening(now);
    for (Member member : members.all()) {
      member.expire(now);
      if (widening == null && member.truth().takeDue(now)) {
        resynchronise(member);
      }
    }
    view.weigh();
    for (Member member : members.all()) {
      member.health().progress().look(now, member.load().inFlight(), member.load().queueMs());
      WorkerHealth.State change = member.health().change(now);
      if (change != null) {
        tell(member, change);
      }
    }
    probe();
    reports.expire(members.all(), now);
    for (Member member : reports.due(members.all(), now)) {
      String pod = member.pod().spec().name();
      getContext()
          .pipeToSelf(
              services.probe().reports(member.worker().url()), (figures, _) -> new Reported(pod, figures));
    }
  }

  private void tell(Member member, WorkerHealth.State state) {
    services.metrics().became(member, state.health());
    if (state.health() == WorkerStatus.Health.HEALTHY) {
      getContext().getLog().info("worker {} is well and gets requests", member.worker().id());
    } else {
      getContext()
          .getLog()
          .warn("worker {} gets nothing new: {} ({} requests in flight)",
              member.worker().id(), state.why(), member.load().inFlight());
    }
  }

  /** Asks those pods whose time has come, or of whom somebody wants to know at once. */
  private void probe() {
    long now = services.nanos().getAsLong();
    Set<String> asked = new HashSet<>();
    for (Member member : members.all()) {
      String pod = member.pod().spec().name();
      if (!asked.add(pod) || probing.contains(pod)) {
        continue;
      }
      PodContact contact = member.health().contact();
      Long due = probeDueNanos.get(pod);
      boolean wanted = contact.takeProbeWanted();
      if (wanted || due == null || now - due >= 0 || (!contact.well() && due - now > probeIntervalDown())) {
        probing.add(pod);
        getContext()
            .pipeToSelf(
                services.probe().probe(member.worker().url()),
                (answer, failure) -> new Probed(member, answer != null && answer, failure, now));
      }
    }
  }

  /**
   * A stream of its own that breaks may be an engine's end, so it takes the worker out until the probe that asks at
   * once, unless nobody else could serve meanwhile. What comes by way of others says nothing of the engine.
   */
  private void streamLost(Member member) {
    boolean direct = member.pod().spec().events().stream().allMatch(EventFeed::direct);
    if (direct && members.all().stream().anyMatch(other -> other.serves(member) && other.routable())) {
      member.health().contact().streamLost(services.nanos().getAsLong());
    }
    probeDueNanos.remove(member.pod().spec().name());
    probe();
  }

  /** Drops what is known of a worker, and reads anew what its engine still tells. */
  private void resynchronise(Member member) {
    services.metrics().resynchronised(member);
    ActorRef<WorkerEvents.Message> stream = streams.get(member);
    getContext()
        .getLog()
        .warn(
            "the index of worker {} is wrong, its answers report less cached than was promised: it is dropped{}",
            member.worker().id(),
            stream == null ? "" : " and read anew");
    if (stream == null) {
      member.blocks().clear();
    } else {
      stream.tell(WorkerEvents.Resynchronise.INSTANCE);
    }
  }

  private long probeIntervalDown() {
    return services.settings().health().probeIntervalDown().toNanos();
  }

  private void probed(Probed probed) {
    String pod = probed.member().pod().spec().name();
    probing.remove(pod);
    PodContact contact = probed.member().health().contact();
    if (probed.failure() == null) {
      contact.probed(probed.well(), probed.askedNanos());
    } else {
      contact.lost(probed.askedNanos(), "a probe could not reach it: " + probed.failure().getMessage());
    }
    Duration interval =
        contact.well()
            ? services.settings().health().probeInterval()
            : services.settings().health().probeIntervalDown();
    probeDueNanos.put(pod, services.nanos().getAsLong() + interval.toNanos());
  }

  private Behavior<Message> left() {
    services.views().withdraw(name, view);
    services.metrics().forget(name);
    members.close();
    return this;
  }
}
