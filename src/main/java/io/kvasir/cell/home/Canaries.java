package io.kvasir.cell.home;

import io.kvasir.cell.worker.Member;
import io.kvasir.cell.worker.StallDetector;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;

/**
 * Finds out when wedged workers move again, at no client's cost: one short request waits at each, and as soon as that
 * is answered the worker gets requests again. It is sent at once, so that one that was only slow is out for no longer
 * than that takes. Engines that do not take it are tried with clients' requests, one at a time, as {@link
 * StallDetector} says. Owned by the cell's actor.
 */
final class Canaries {
  private final CellServices services;
  private final Executor actor;
  private final Logger log;

  /** The latest of each member that had one since it is wedged. */
  private final Map<Member, Canary> sent = new HashMap<>();

  private enum State {
    WAITS, ANSWERED, REFUSED, LOST
  }

  private record Canary(long sentNanos, State state) {}

  /**
   * Sends nothing until {@link #check}.
   *
   * @param turns runs what it is given on a turn of the cell's actor
   */
  Canaries(CellServices services, Executor turns, Logger log) {
    this.services = services;
    this.actor = turns;
    this.log = log;
  }

  /** Sends a canary to a member that is wedged and had none since, or one that was lost some time ago. */
  void check(Member member, long now) {
    StallDetector stall = member.health().stallDetector();
    Canary last = sent.get(member);
    if (last != null && last.state == State.WAITS) {
      return;
    }
    if (!stall.wedged()) {
      sent.remove(member);
      return;
    }
    if (member.health().reachability().isReachable() && isDue(last, now)) {
      sent.put(member, new Canary(now, State.WAITS));
      stall.canarySent();
      services
          .probe()
          .canary(member.worker())
          .whenComplete((answered, _) -> actor.execute(() -> onEnd(member, now, state(answered))));
    }
  }

  private boolean isDue(@Nullable Canary last, long now) {
    long pause = services.settings().health().probeInterval().toNanos();
    return last == null || (last.state == State.LOST && now - last.sentNanos >= pause);
  }

  private static State state(@Nullable Boolean answered) {
    return answered == null ? State.LOST : answered ? State.ANSWERED : State.REFUSED;
  }

  /** A member has left the cell. */
  void memberRemoved(Member member) {
    sent.remove(member);
  }

  private void onEnd(Member member, long sentNanos, State how) {
    boolean answered = how == State.ANSWERED;
    StallDetector stall = member.health().stallDetector();
    stall.canaryEnded(answered, services.clock().nanos());
    boolean listed = sent.replace(member, new Canary(sentNanos, how)) != null;
    if (listed && answered && stall.wedged()) {
      log.info("worker {} generates again: a request of the router's own has been answered", member.worker().id());
    }
  }
}
