package io.kvasir.app.membership;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.StreamSupport;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.Props;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.cluster.MemberStatus;
import org.apache.pekko.cluster.typed.Cluster;
import org.apache.pekko.cluster.typed.Join;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

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

  @Test
  void half_isLeftToTheMajoritysRule() {
    assertThat(MembershipWatch.isMinority(1, 3)).isTrue();
    assertThat(MembershipWatch.isMinority(2, 5)).isTrue();
    assertThat(MembershipWatch.isMinority(1, 2)).isFalse();
    assertThat(MembershipWatch.isMinority(2, 4)).isFalse();
    assertThat(MembershipWatch.isMinority(0, 3)).isFalse();
  }

  private ActorSystem<Void> node() {
    Config config =
        ConfigFactory.parseString(
                """
                pekko {
                  remote.artery.canonical { hostname = "127.0.0.1", port = 0 }
                  cluster.failure-detector.acceptable-heartbeat-pause = 1 h
                  cluster.split-brain-resolver.stable-after = 1 h
                  # It ends as if it were killed.
                  coordinated-shutdown.run-by-actor-system-terminate = off
                }
                """)
            .withFallback(ConfigFactory.parseResources("platform.conf"))
            .withFallback(ConfigFactory.defaultReference())
            .resolve();
    ActorSystem<Void> system = ActorSystem.create(Behaviors.empty(), "kvasir", config);
    ActorSystem<Void> first = nodes.isEmpty() ? system : nodes.getFirst();
    Cluster.get(system).manager().tell(new Join(Cluster.get(first).selfMember().address()));
    system.systemActorOf(MembershipWatch.create(NOBODY), "membership", Props.empty());
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
