package io.kvasir;

import static io.kvasir.Await.await;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import java.util.List;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.cluster.MemberStatus;
import org.apache.pekko.cluster.typed.Cluster;
import org.apache.pekko.cluster.typed.Join;
import org.jspecify.annotations.Nullable;

/** Actor systems in this process that are members of one cluster, without the rest of a node. */
public final class TestMembers {
  private TestMembers() {}

  /**
   * A member that is up.
   *
   * @param first of the members there are; null for the first one
   */
  public static ActorSystem<Void> start(@Nullable ActorSystem<?> first) {
    return start(first, "");
  }

  /** The same with settings of Pekko of its own. */
  public static ActorSystem<Void> start(@Nullable ActorSystem<?> first, String settings) {
    Config config =
        ConfigFactory.parseString("pekko.remote.artery.canonical { hostname = \"127.0.0.1\", port = 0 }")
            .withFallback(ConfigFactory.parseString(settings))
            .withFallback(ConfigFactory.parseResources("platform.conf"))
            .withFallback(ConfigFactory.defaultReference())
            .resolve();
    ActorSystem<Void> system = ActorSystem.create(Behaviors.empty(), "kvasir", config);
    Cluster cluster = Cluster.get(system);
    cluster.manager().tell(Join.create(Cluster.get(first == null ? system : first).selfMember().address()));
    await(() -> cluster.selfMember().status().equals(MemberStatus.up()));
    return system;
  }

  /** Ends members one after the other, the last that came first: of two that leave at once, one waits for the other. */
  public static void stop(List<ActorSystem<Void>> members) {
    for (ActorSystem<Void> member : members.reversed()) {
      member.terminate();
      member.getWhenTerminated().toCompletableFuture().join();
    }
  }
}
