package io.kvasir.limits;

import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import java.time.InstantSource;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.Props;
import org.apache.pekko.cluster.Member;
import org.apache.pekko.cluster.MemberStatus;
import org.apache.pekko.cluster.UniqueAddress;
import org.apache.pekko.cluster.sharding.typed.javadsl.ClusterSharding;
import org.apache.pekko.cluster.sharding.typed.javadsl.Entity;
import org.apache.pekko.cluster.typed.Cluster;

/** Starts a node's part of the limits: the owners that may live here, the keeper of its leases, and its limiter. */
public final class LimitsWiring {
  /** Keys and tenants that a node remembers while they send no requests: some 10 MB. */
  private static final int MOST_IDLE = 10_000;

  private LimitsWiring() {}

  /**
   * Starts a node's part of the limits. Once for each actor system, with which it ends.
   *
   * @param system a member of the cluster, or about to become one
   * @param metrics where the room's are registered
   */
  public static Limiter start(
      ActorSystem<?> system, LimitSettings settings, Metrics metrics, NanoClock nanos, InstantSource clock) {
    ClusterSharding sharding = ClusterSharding.get(system);
    Cluster cluster = Cluster.get(system);
    sharding.init(
        Entity.of(
                LimitOwner.KEY,
                entity ->
                    LimitOwner.create(
                        entity.getEntityId(),
                        entity.getShard(),
                        handover -> {
                          // Where there is no other home, it would keep this node from ending.
                          if (hasOthersUp(cluster)) {
                            sharding.entityRefFor(LimitOwner.KEY, entity.getEntityId()).tell(handover);
                          }
                        },
                        clock))
            .withStopMessage(LimitOwner.Stop.INSTANCE));
    Accounts accounts = new Accounts(settings.burst(), MOST_IDLE);
    LimitMetrics limitMetrics = new LimitMetrics(metrics, settings.tenants());
    UniqueAddress self = cluster.selfMember().uniqueAddress();
    String node = self.address() + "#" + self.longUid();
    ActorRef<LeaseKeeper.Message> keeper =
        system.systemActorOf(
            LeaseKeeper.create(
                settings.ownerTimeout(),
                answers ->
                    new LeaseRenewals(
                        (limit, sequence, reports) ->
                            sharding
                                .entityRefFor(LimitOwner.KEY, limit)
                                .tell(new LimitOwner.Renew(node, sequence, reports, answers)),
                        accounts::idle,
                        () -> nodesUp(cluster),
                        settings.ownerTimeout(),
                        limitMetrics,
                        nanos,
                        clock)),
            "kvasir-leases",
            Props.empty());
    LimitCheck check =
        new LimitCheck(settings, account -> keeper.tell(new LeaseKeeper.Renew(account)), nanos, clock);
    return new Limiter(settings, accounts, check, limitMetrics, clock);
  }

  private static boolean hasOthersUp(Cluster cluster) {
    int self = cluster.selfMember().status().equals(MemberStatus.up()) ? 1 : 0;
    return nodesUp(cluster) > self;
  }

  private static int nodesUp(Cluster cluster) {
    int nodes = 0;
    for (Member member : cluster.state().getMembers()) {
      if (member.status().equals(MemberStatus.up())) {
        nodes++;
      }
    }
    return nodes;
  }
}
