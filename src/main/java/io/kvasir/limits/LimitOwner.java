package io.kvasir.limits;

import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.UUID;
import java.util.function.Consumer;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.cluster.sharding.typed.javadsl.ClusterSharding;
import org.apache.pekko.cluster.sharding.typed.javadsl.EntityTypeKey;

/**
 * The owner of the limits of one key or tenant: a sharded entity, one in the cluster. Nodes report to it what they
 * hold, and it grants them more. It remembers nothing on disk: when it moves, it tells the next owner what is left, and
 * when it is lost, that one goes on from the stamps in the nodes' reports.
 */
final class LimitOwner {
  static final EntityTypeKey<Message> KEY = EntityTypeKey.create(Message.class, "kvasir-limit");

  private static final Duration EXPIRY_INTERVAL = Duration.ofSeconds(1);

  /** The messages to an owner. */
  sealed interface Message {}

  /**
   * A node's report, which asks for more.
   *
   * @param node the node's name, another one after each start
   * @param sequence number of the report among the node's
   * @param reports one for each quota
   */
  record Renew(String node, long sequence, List<LeaseReport> reports, ActorRef<Renewed> replyTo)
      implements Message, LimitMessage {}

  /**
   * What is granted.
   *
   * @param limit the limit's id
   * @param sequence number of the report that this answers
   * @param grants one for each of its quotas
   */
  record Renewed(String limit, long sequence, List<LeaseGrant> grants) implements LimitMessage {}

  /** What an owner that stops tells the next one. */
  record Handover(List<LimitLedger.Level> levels) implements Message, LimitMessage {}

  /** Time to forget nodes that are gone. */
  private enum Expire implements Message { INSTANCE }

  /** What a stopping owner is told last. */
  enum Stop implements Message { INSTANCE }

  private LimitOwner() {}

  /**
   * An owner.
   *
   * @param limit the limit's id
   * @param shard where it says that it may be stopped
   * @param next takes what it tells the next owner
   * @param clock the wall clock, whose epoch the windows of budgets begin with
   */
  static Behavior<Message> create(
      String limit, ActorRef<ClusterSharding.ShardCommand> shard, Consumer<Handover> next, InstantSource clock) {
    return Behaviors.setup(context ->
        Behaviors.withTimers(timers -> {
          timers.startTimerWithFixedDelay(Expire.INSTANCE, EXPIRY_INTERVAL);
          LimitLedger ledger = new LimitLedger(UUID.randomUUID().toString(), clock.millis());
          return Behaviors.receive(Message.class)
              .onMessage(Renew.class, renew -> {
                List<LeaseGrant> grants =
                    ledger.renew(renew.node(), renew.sequence(), renew.reports(), clock.millis());
                if (!grants.isEmpty()) {
                  renew.replyTo().tell(new Renewed(limit, renew.sequence(), grants));
                }
                return Behaviors.same();
              })
              .onMessage(Expire.class, _ -> {
                long now = clock.millis();
                ledger.expire(now);
                if (ledger.isUntouched(now)) {
                  shard.tell(new ClusterSharding.Passivate<>(context.getSelf()));
                }
                return Behaviors.same();
              })
              .onMessage(Handover.class, before -> {
                ledger.continueFrom(before.levels(), clock.millis());
                return Behaviors.same();
              })
              .onMessage(Stop.class, _ -> {
                long now = clock.millis();
                // One that stops for having nothing to remember is not to be woken by it.
                if (!ledger.isUntouched(now)) {
                  next.accept(new Handover(ledger.levels(now)));
                }
                return Behaviors.stopped();
              })
              .build();
        }));
  }
}
