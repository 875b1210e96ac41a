package io.kvasir.app.membership;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.apache.pekko.actor.CoordinatedShutdown;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.javadsl.AbstractBehavior;
import org.apache.pekko.actor.typed.javadsl.ActorContext;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.actor.typed.javadsl.Receive;
import org.apache.pekko.actor.typed.javadsl.TimerScheduler;
import org.apache.pekko.cluster.ClusterEvent;
import org.apache.pekko.cluster.MemberStatus;
import org.apache.pekko.cluster.UniqueAddress;
import org.apache.pekko.cluster.typed.Cluster;
import org.apache.pekko.cluster.typed.Down;
import org.apache.pekko.cluster.typed.Subscribe;
import org.jspecify.annotations.Nullable;

/**
 * Watches the members of the cluster.
 *
 * <p>Nodes whose processes have certainly ended are removed without the wait that distinguishes a partition from a
 * crash. That is done only if it explains every unreachable node, and for fewer than half of the nodes: a network that
 * refuses connections looks alike from both sides, and then the majority has to decide.
 *
 * <p>When this node itself is removed, because it is in the minority of a partition or was taken for dead, the others
 * are probed until most of those it knew accept connections again. Fewer would not do: nodes of a minority that find
 * only each other would form a cluster of their own. Where nodes find each other by discovery, those that it finds now
 * count, too: others may have come in place of those that were known, at addresses of their own.
 */
final class MembershipWatch extends AbstractBehavior<MembershipWatch.Message> {
  private static final Duration CONNECT_TIMEOUT = Duration.ofMillis(500);
  private static final Duration PROBE_INTERVAL = Duration.ofMillis(500);
  private static final Set<MemberStatus> VOTERS = Set.of(MemberStatus.up(), MemberStatus.leaving());
  private static final Set<MemberStatus> LEFT = Set.of(MemberStatus.down(), MemberStatus.exiting());

  sealed interface Message {}

  private record MembershipChanged(ClusterEvent.ClusterDomainEvent event) implements Message {}

  /** The outcome of probing these nodes, which were all that were unreachable. */
  private record Probed(Set<UniqueAddress> unreachable, boolean crashed) implements Message {}

  private enum Tick implements Message { INSTANCE }

  /** How many of these nodes, this one included, accept connections of this one. */
  private record ReachableCounted(long nodes, long all) implements Message {
    boolean isMajority() {
      return 2 * nodes > all;
    }

    static ReachableCounted none() {
      return new ReachableCounted(0, 0);
    }
  }

  private final Cluster cluster;
  private final UniqueAddress self;
  private final CoordinatedShutdown shutdown;
  private final Membership.Listener listener;

  /** The address that remoting connects from, empty when the system may choose: others may accept that one only. */
  private final String from;

  private final Map<UniqueAddress, MemberStatus> others = new HashMap<>();
  private final Set<UniqueAddress> unreachable = new HashSet<>();
  private boolean cutOff;

  /** Whether nodes find each other by discovery. */
  private final boolean discovers;

  /** Null until they are needed. */
  private @Nullable ContactPoints contactPoints;

  /** Whether a probe is in progress, or has been the last that was needed. */
  private boolean probing;

  private MembershipWatch(
      ActorContext<Message> context, TimerScheduler<Message> timers, boolean discovers, Membership.Listener listener) {
    super(context);
    this.discovers = discovers;
    context.setLoggerName(MembershipWatch.class);
    this.cluster = Cluster.get(context.getSystem());
    this.self = cluster.selfMember().uniqueAddress();
    this.shutdown = CoordinatedShutdown.get(context.getSystem());
    this.listener = listener;
    this.from =
        context.getSystem().settings().config()
            .getString("pekko.remote.artery.advanced.tcp.outbound-client-hostname");
    cluster
        .subscriptions()
        .tell(
            Subscribe.create(
                context.messageAdapter(ClusterEvent.ClusterDomainEvent.class, MembershipChanged::new),
                ClusterEvent.ClusterDomainEvent.class));
    timers.startTimerWithFixedDelay(Tick.INSTANCE, PROBE_INTERVAL);
  }

  /**
   * A watch until its system ends.
   *
   * @param discovers whether nodes find each other by discovery, which is looked in by a node that is cut off
   */
  static Behavior<Message> create(boolean discovers, Membership.Listener listener) {
    return Behaviors.setup(
        context -> Behaviors.withTimers(timers -> new MembershipWatch(context, timers, discovers, listener)));
  }

  @Override
  public Receive<Message> createReceive() {
    return newReceiveBuilder().onMessage(Message.class, this::on).build();
  }

  private Behavior<Message> on(Message message) {
    switch (message) {
      case MembershipChanged changed -> changed(changed.event());
      case Probed probed -> {
        if (probed.crashed() && probed.unreachable().equals(unreachable)) {
          probed.unreachable().forEach(this::down);
        }
      }
      case Tick _ -> tick();
      case ReachableCounted found -> {
        probing = found.isMajority();
        if (probing) {
          getContext().getLog().info("{} of {} nodes answer again", found.nodes(), found.all());
          listener.onRejoinable();
        }
      }
    }
    return this;
  }

  private void changed(ClusterEvent.ClusterDomainEvent event) {
    switch (event) {
      case ClusterEvent.MemberRemoved removed -> {
        unreachable.remove(removed.member().uniqueAddress());
        // When this node is removed, events for all other members follow, healthy ones included.
        if (LEFT.contains(removed.previousStatus())) {
          others.remove(removed.member().uniqueAddress());
        }
      }
      case ClusterEvent.MemberEvent changed when !changed.member().uniqueAddress().equals(self) ->
          others.put(changed.member().uniqueAddress(), changed.member().status());
      case ClusterEvent.UnreachableMember missing -> {
        unreachable.add(missing.member().uniqueAddress());
        probeUnreachable();
      }
      case ClusterEvent.ReachableMember back -> unreachable.remove(back.member().uniqueAddress());
      default -> {
        // Other events do not matter.
      }
    }
  }

  /** Probes whether the processes of all unreachable nodes have ended. */
  private void probeUnreachable() {
    Set<UniqueAddress> probed = Set.copyOf(unreachable);
    long voters = 1 + others.values().stream().filter(VOTERS::contains).count();
    if (isMinority(probed.size(), voters)) {
      getContext()
          .pipeToSelf(
              count(probed.stream().map(MembershipWatch::transport).toList(), ConnectResult.REFUSED),
              (refused, failed) -> new Probed(probed, failed == null && refused == probed.size()));
    }
  }

  private void down(UniqueAddress crashed) {
    getContext().getLog().warn("node {} has crashed: it is taken out of the cluster", crashed.address().hostPort());
    cluster.manager().tell(new Down(crashed.address()));
  }

  /** The cluster publishes no event for a node's own removal when that precedes the subscription. */
  private void tick() {
    if (cluster.isTerminated() && shutdown.getShutdownReason().isEmpty()) {
      if (!cutOff) {
        cutOff = true;
        logCutOff();
        listener.onCutOff();
      }
      if (!probing) {
        probing = true;
        probeOthers();
      }
    }
  }

  private void logCutOff() {
    getContext()
        .getLog()
        .error(
            "this node is cut off: the other nodes ({}) go on without it, it is the home of no cell, and it rejoins"
                + " when most of them answer",
            String.join(", ", others.keySet().stream().map(node -> node.address().hostPort()).sorted().toList()));
  }

  private void probeOthers() {
    List<InetSocketAddress> known = others.keySet().stream().map(MembershipWatch::transport).toList();
    CompletionStage<ReachableCounted> counted =
        count(known, ConnectResult.ACCEPTED).thenApply(found -> new ReachableCounted(found + 1, known.size() + 1));
    if (discovers) {
      if (contactPoints == null) {
        contactPoints = new ContactPoints(getContext().getSystem());
      }
      ContactPoints now = contactPoints;
      counted = counted.thenCompose(found ->
          found.isMajority() ? CompletableFuture.completedStage(found) : countDiscovered(now));
    }
    getContext().pipeToSelf(counted, (found, failed) -> failed == null ? found : ReachableCounted.none());
  }

  /** Of one that finds itself alone the others may be hidden from discovery. */
  private CompletionStage<ReachableCounted> countDiscovered(ContactPoints points) {
    return points.find().thenCompose(nodes ->
        count(nodes, ConnectResult.ACCEPTED)
            .thenApply(found ->
                nodes.size() < 2 ? ReachableCounted.none() : new ReachableCounted(found, nodes.size())));
  }

  private static InetSocketAddress transport(UniqueAddress node) {
    return ConnectResult.transport(node.address());
  }

  /** The number of nodes with this outcome. */
  private CompletableFuture<Long> count(Collection<InetSocketAddress> nodes, ConnectResult expected) {
    List<CompletableFuture<ConnectResult>> answers = new ArrayList<>();
    for (InetSocketAddress node : nodes) {
      answers.add(
          CompletableFuture.supplyAsync(
              () -> ConnectResult.probe(node, from, CONNECT_TIMEOUT), task -> Thread.ofVirtual().start(task)));
    }
    return CompletableFuture.allOf(answers.toArray(CompletableFuture[]::new))
        .thenApply(_ -> answers.stream().filter(answer -> answer.join() == expected).count());
  }

  /** Whether a number of nodes is positive, and less than half of all. */
  static boolean isMinority(long nodes, long all) {
    return nodes > 0 && 2 * nodes < all;
  }
}
