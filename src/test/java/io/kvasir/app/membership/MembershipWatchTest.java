package io.kvasir.app.membership;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.StreamSupport;
import org.apache.pekko.actor.ExtendedActorSystem;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.Props;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.cluster.MemberStatus;
import org.apache.pekko.cluster.typed.Cluster;
import org.apache.pekko.cluster.typed.Down;
import org.apache.pekko.cluster.typed.Join;
import org.apache.pekko.discovery.Lookup;
import org.apache.pekko.discovery.ServiceDiscovery;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import scala.Option;
import scala.concurrent.Future;
import scala.concurrent.duration.FiniteDuration;
import scala.jdk.javaapi.CollectionConverters;

/** Actor systems over real remoting, of which one ends without a word. Nothing else would ever take it out. */
final class MembershipWatchTest {
  private static final Membership.Listener NOBODY =
      new Membership.Listener() {
        @Override
        public void onCutOff() {}

        @Override
        public void onRejoinable() {}
      };

  private final List<ActorSystem<Void>> nodes = new ArrayList<>();

  @AfterEach
  void stop() {
    nodes.forEach(ActorSystem::terminate);
  }

  @Test
  void crash_ofOneInThree_takesItOut() {
    for (int i = 0; i < 3; i++) {
      nodes.add(node());
    }
    await("three nodes", () -> nodes.stream().allMatch(node -> up(node) == 3));
    nodes.removeLast().terminate();
    await("two nodes", () -> nodes.stream().allMatch(node -> up(node) == 2 && members(node) == 2));
  }

  /** Two of three come again at addresses of their own: the third would wait for the former ones for ever. */
  @Test
  void cutOff_rejoinsThoseThatDiscoveryFindsInPlaceOfTheOthers() throws IOException {
    AtomicBoolean rejoinable = new AtomicBoolean();
    AtomicBoolean cutOff = new AtomicBoolean();
    for (int i = 0; i < 3; i++) {
      nodes.add(node(true, new Membership.Listener() {
        @Override
        public void onCutOff() {
          cutOff.set(true);
        }

        @Override
        public void onRejoinable() {
          rejoinable.set(true);
        }
      }));
    }
    await("three nodes", () -> nodes.stream().allMatch(node -> up(node) == 3));
    ActorSystem<Void> alone = nodes.getFirst();
    for (ActorSystem<Void> other : List.of(nodes.removeLast(), nodes.removeLast())) {
      other.terminate();
      other.getWhenTerminated().toCompletableFuture().join();
    }
    int third = closedPort();
    try (ServerSocket self = contactPoint(); ServerSocket second = contactPoint()) {
      StaticNodes.found = List.of(self.getLocalPort());
      Cluster.get(alone).manager().tell(new Down(Cluster.get(alone).selfMember().address()));
      await("the node to be cut off", cutOff::get);
      int looks = StaticNodes.looks.get();
      await("discovery to be looked in", () -> StaticNodes.looks.get() >= looks + 2);
      assertThat(rejoinable).as("none but itself is found").isFalse();

      StaticNodes.found = List.of(self.getLocalPort(), second.getLocalPort(), third);
      await("most of those that are found answer", rejoinable::get);
    }
  }

  private static int closedPort() throws IOException {
    try (ServerSocket closed = contactPoint()) {
      return closed.getLocalPort();
    }
  }

  private static ServerSocket contactPoint() throws IOException {
    return new ServerSocket(0, 16, InetAddress.getLoopbackAddress());
  }

  /** Finds what a test says. Pekko makes it by its name. */
  public static final class StaticNodes extends ServiceDiscovery {
    private static final AtomicInteger looks = new AtomicInteger();
    private static volatile List<Integer> found = List.of();

    /** As Pekko calls it. */
    public StaticNodes(ExtendedActorSystem system) {}

    @Override
    public Future<Resolved> lookup(Lookup lookup, FiniteDuration timeout) {
      looks.incrementAndGet();
      List<ResolvedTarget> targets = found.stream()
          .map(port -> new ResolvedTarget(
              "127.0.0.1", Option.<Object>apply(port), Option.apply(InetAddress.getLoopbackAddress())))
          .toList();
      return Future.successful(new Resolved(lookup.serviceName(), CollectionConverters.asScala(targets).toSeq()));
    }
  }

  @Test
  void half_isLeftToTheMajoritysRule() {
    assertThat(MembershipWatch.isMinority(1, 3)).isTrue();
    assertThat(MembershipWatch.isMinority(2, 5)).isTrue();
    assertThat(MembershipWatch.isMinority(1, 2)).isFalse();
    assertThat(MembershipWatch.isMinority(2, 4)).isFalse();
    assertThat(MembershipWatch.isMinority(0, 3)).isFalse();
  }

  private ActorSystem<Void> node() {
    return node(false, NOBODY);
  }

  private ActorSystem<Void> node(boolean discovers, Membership.Listener listener) {
    Config config =
        ConfigFactory.parseString(
                """
                pekko {
                  remote.artery.canonical { hostname = "127.0.0.1", port = 0 }
                  cluster.failure-detector.acceptable-heartbeat-pause = 1 h
                  cluster.split-brain-resolver.stable-after = 1 h
                  # It ends as if it were killed.
                  coordinated-shutdown.run-by-actor-system-terminate = off
                  discovery.test.class = "io.kvasir.app.membership.MembershipWatchTest$StaticNodes"
                  management.cluster.bootstrap.contact-point-discovery {
                    discovery-method = test
                    effective-name = nodes
                  }
                }
                """)
            .withFallback(ConfigFactory.parseResources("platform.conf"))
            .withFallback(ConfigFactory.defaultReference())
            .resolve();
    ActorSystem<Void> system = ActorSystem.create(Behaviors.empty(), "kvasir", config);
    ActorSystem<Void> first = nodes.isEmpty() ? system : nodes.getFirst();
    Cluster.get(system).manager().tell(new Join(Cluster.get(first).selfMember().address()));
    system.systemActorOf(MembershipWatch.create(discovers, listener), "membership", Props.empty());
    return system;
  }

  private static long up(ActorSystem<Void> node) {
    return StreamSupport.stream(Cluster.get(node).state().getMembers().spliterator(), false)
        .filter(member -> member.status().equals(MemberStatus.up()))
        .count();
  }

  private static long members(ActorSystem<Void> node) {
    return StreamSupport.stream(Cluster.get(node).state().getMembers().spliterator(), false).count();
  }
}
