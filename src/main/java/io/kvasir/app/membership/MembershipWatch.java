package io.kvasir.app.membership;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.apache.pekko.actor.Address;
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

/**
 * Watches who is in the cluster.
 *
 * <p>Nodes whose processes are gone for certain it takes out without the wait that a partition needs to be told from a
 * crash. It does so only when that explains all that is unreachable, and for fewer than half of the nodes: a network
 * that refuses connections looks alike on both of its sides, and then the majority has to decide.
 *
 * <p>When this node itself is taken out, because it is on the lesser side of a partition or others took it for dead, it
 * looks for them until most of those it knew let it in again. Fewer would not do: nodes of a lesser side that find only
 * each other would begin a cluster of their own.
 */
final class MembershipWatch extends AbstractBehavior<MembershipWatch.Message> {
  private static final Duration CONNECT_TIMEOUT = Duration.ofMillis(500);
  private static final Duration PROBE_INTERVAL = Duration.ofMillis(500);
  private static final Set<MemberStatus> VOTERS = Set.of(MemberStatus.up(), MemberStatus.leaving());
  private static final Set<MemberStatus> LEFT = Set.of(MemberStatus.down(), MemberStatus.exiting());

  sealed interface Message {}

  private record MembershipChanged(ClusterEvent.ClusterDomainEvent event) implements Message {}

  /** What asking these nodes, all that were unreachable, came to. */
  private record Probed(Set<UniqueAddress> unreachable, boolean crashed) implements Message {}

  private enum Tick implements Message { INSTANCE }

  /** So many of the others let this node in. */
  private record ReachableCounted(long nodes) implements Message {}

  private final Cluster cluster;
  private final UniqueAddress self;
  private final CoordinatedShutdown shutdown;
  private final Membership.Listener listener;

  /** The address that remoting connects from, empty when the system may choose: others may let in that one only. */
  private final String from;

  private final Map<UniqueAddress, MemberStatus> others = new HashMap<>();
  private final Set<UniqueAddress> unreachable = new HashSet<>();
  private boolean cutOff;

  /** Whether an answer is awaited, or has been the last that was needed. */
  private boolean probing;

  private MembershipWatch(
      ActorContext<Message> context, TimerScheduler<Message> timers, Membership.Listener listener) {
    super(context);
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

  static Behavior<Message> create(Membership.Listener listener) {
    return Behaviors.setup(
        context -> Behaviors.withTimers(timers -> new MembershipWatch(context, timers, listener)));
  }

  @Override
  public Receive<Message> createReceive() {
    return newReceiveBuilder().onMessage(Message.class, this::on).build();
  }

  private Behavior<Message> on(Message message) {
    switch (message) {
      case MembershipChanged changed -> changed(changed.event());
      case Probed asked -> {
        if (asked.crashed() && asked.unreachable().equals(unreachable)) {
          asked.unreachable().forEach(this::down);
        }
      }
      case Tick _ -> tick();
      case ReachableCounted found -> {
        probing = isMajority(found.nodes() + 1, others.size() + 1);
        if (probing) {
          getContext().getLog().info("{} of {} other nodes answer again", found.nodes(), others.size());
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
        // When this node is taken out it hears that all are removed, those too that are well.
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
        // The platform tells more than matters here.
      }
    }
  }

  /** Whether all that are unreachable are gone. */
  private void probeUnreachable() {
    Set<UniqueAddress> asked = Set.copyOf(unreachable);
    long voters = 1 + others.values().stream().filter(VOTERS::contains).count();
    if (isMinority(asked.size(), voters)) {
      getContext()
          .pipeToSelf(
              count(asked, ConnectResult.REFUSED),
              (gone, failed) -> new Probed(asked, failed == null && gone == asked.size()));
    }
  }

  private void down(UniqueAddress crashed) {
    getContext().getLog().warn("node {} has crashed: it is taken out of the cluster", crashed.address().hostPort());
    cluster.manager().tell(new Down(crashed.address()));
  }

  /** The cluster tells a node nothing of its own removal when that comes before anybody listens. */
  private void tick() {
    if (cluster.isTerminated() && shutdown.getShutdownReason().isEmpty()) {
      if (!cutOff) {
        cutOff = true;
        logCutOff();
        listener.onCutOff();
      }
      if (!probing) {
        probing = true;
        look();
      }
    }
  }

  private void logCutOff() {
    getContext()
        .getLog()
        .error(
            "this node is cut off: the other nodes ({}) go on without it, no cell is at home here, and it comes back"
                + " when most of them answer",
            String.join(", ", others.keySet().stream().map(node -> node.address().hostPort()).sorted().toList()));
  }

  private void look() {
    getContext()
        .pipeToSelf(
            count(others.keySet(), ConnectResult.ACCEPTED),
            (found, failed) -> new ReachableCounted(failed == null ? found : 0));
  }

  /** How many of the nodes are found so. */
  private CompletableFuture<Long> count(Collection<UniqueAddress> nodes, ConnectResult wanted) {
    List<CompletableFuture<ConnectResult>> answers = new ArrayList<>();
    for (UniqueAddress node : nodes) {
      Address address = node.address();
      answers.add(
          CompletableFuture.supplyAsync(
              () -> ConnectResult.probe(address, from, CONNECT_TIMEOUT), task -> Thread.ofVirtual().start(task)));
    }
    return CompletableFuture.allOf(answers.toArray(CompletableFuture[]::new))
        .thenApply(_ -> answers.stream().filter(answer -> answer.join() == wanted).count());
  }

  /** Whether so many are some, and fewer than half of all. */
  static boolean isMinority(long nodes, long all) {
    return nodes > 0 && 2 * nodes < all;
  }

  private static boolean isMajority(long nodes, long all) {
    return 2 * nodes > all;
  }
}
