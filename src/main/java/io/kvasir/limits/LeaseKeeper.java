package io.kvasir.limits;

import java.time.Duration;
import java.util.function.Function;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.actor.typed.javadsl.TimerScheduler;

/** The actor that renews a node's leases: one per node. */
final class LeaseKeeper {
  /** An ask is given up at one of so many moments within its time limit. */
  private static final int CHECKS = 4;

  /** The messages to the keeper. */
  sealed interface Message {}

  /** Asks for an account's leases to be renewed. */
  record Renew(Account account) implements Message {}

  private record Answer(LimitOwner.Renewed renewed) implements Message {}

  private enum Check implements Message { INSTANCE }

  private LeaseKeeper() {}

  /**
   * A node's keeper.
   *
   * @param ownerTimeout of the renewals
   * @param renewals makes its renewals, given where owners send their answers to
   */
  static Behavior<Message> create(
      Duration ownerTimeout, Function<ActorRef<LimitOwner.Renewed>, LeaseRenewals> renewals) {
    return Behaviors.setup(context ->
        Behaviors.withTimers(timers ->
            receive(
                timers,
                ownerTimeout.dividedBy(CHECKS),
                renewals.apply(context.messageAdapter(LimitOwner.Renewed.class, Answer::new)))));
  }

  /** Checks only while there is something to check: most nodes have no limits, or no requests. */
  private static Behavior<Message> receive(
      TimerScheduler<Message> timers, Duration checkInterval, LeaseRenewals renewals) {
    return Behaviors.receiveMessage(message -> {
      switch (message) {
        case Renew(Account account) -> {
          renewals.renew(account);
          if (!timers.isTimerActive(Check.INSTANCE)) {
            timers.startTimerWithFixedDelay(Check.INSTANCE, checkInterval);
          }
        }
        case Answer(LimitOwner.Renewed(String limit, long sequence, var grants)) ->
            renewals.answered(limit, sequence, grants);
        case Check _ -> {
          if (!renewals.check()) {
            timers.cancel(Check.INSTANCE);
          }
        }
      }
      return Behaviors.same();
    });
  }
}
