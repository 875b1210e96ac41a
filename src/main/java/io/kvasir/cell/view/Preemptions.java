package io.kvasir.cell.view;

import io.kvasir.admission.AdmissionMetrics;
import io.kvasir.admission.AdmissionSettings;
import io.kvasir.admission.Claim;
import io.kvasir.admission.HoldReason;
import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.Outcome;
import io.kvasir.cell.ledger.PreemptibleReservation;
import io.kvasir.routing.Selection;
import io.kvasir.routing.Worker;
import io.kvasir.time.NanoClock;
import java.util.BitSet;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Takes requests back from their workers, while their answers have not begun, for more urgent ones that wait: the
 * youngest, of which the least is lost, and only where the one that waits can go then. Whoever holds the request
 * decides whether its answer has begun; until it has closed the reservation nothing counts as free. Thread-safe.
 */
final class Preemptions {
  /**
   * A holder that has not done it by then has not heard of it, or the answer has begun; and whoever has not had the
   * place by then, once it is free, has left.
   */
  static final long HOLDER_NANOS = 1_000_000_000L;

  /** How long an answer that does not stream may have been generated, which is lost when it is taken back. */
  static final long MOST_LOST_NANOS = 10_000_000_000L;

  /** What is taken back for one request at the most: others may be ahead of it when there is room. */
  static final int MOST_FOR_ONE = 4;

  private final AdmissionSettings settings;
  private final GateCheck.Engines engines;
  private final Function<DecisionRequest, BitSet> slotsWithAPlaceMore;
  private final AdmissionMetrics metrics;
  private final NanoClock clock;
  private final Set<Sent> open = ConcurrentHashMap.newKeySet();

  /** Those who have had something taken back and have not been tried since. */
  private final Set<Preemptor> expectant = ConcurrentHashMap.newKeySet();

  /**
   * Nothing can be taken back yet.
   *
   * @param engines what is known of the workers' engines
   * @param slotsWithAPlaceMore of the workers that a request's profile would choose from if each had a place more
   */
  Preemptions(
      AdmissionSettings settings, GateCheck.Engines engines, Function<DecisionRequest, BitSet> slotsWithAPlaceMore,
      AdmissionMetrics metrics, NanoClock clock) {
    this.settings = settings;
    this.engines = engines;
    this.slotsWithAPlaceMore = slotsWithAPlaceMore;
    this.metrics = metrics;
    this.clock = clock;
  }

  /** A request at its worker that may be taken back. */
  private final class Sent {
    private final Claim claim;
    private final Selection.Chosen chosen;
    private final double queueMs;
    private final boolean streams;
    private final IntConsumer refund;
    private final long sentNanos;
    private final long arrivalNanos;
    private final PreemptibleReservation reservation;
    private volatile boolean notified;

    /** When its holder was notified, and later when it was given back. */
    private volatile long latestStepNanos;

    Sent(
        Decision.Chosen step, Claim claim, Selection.Chosen chosen, double queueMs, boolean streams,
        IntConsumer refund) {
      this.claim = claim;
      this.chosen = chosen;
      this.queueMs = queueMs;
      this.streams = streams;
      this.refund = refund;
      this.sentNanos = clock.nanos();
      this.arrivalNanos = sentNanos - claim.waitedMillis() * 1_000_000;
      this.reservation = PreemptibleReservation.of(step.reservation(), this::ended);
    }

    private void ended(Outcome outcome) {
      open.remove(this);
      boolean preempted = outcome instanceof Outcome.Preempted;
      if (preempted) {
        latestStepNanos = clock.nanos();
        refund.accept(chosen.booking().uncachedTokens());
      }
      if (notified) {
        metrics.preempted(claim.serviceClass(), preempted);
      }
    }

    void preempt() {
      notified = true;
      reservation.preempt();
    }

    /** Whether it may yet be given back, as its holder was notified a moment ago. */
    boolean isAwaited(long now) {
      return notified && !reservation.isSettled() && now - latestStepNanos < HOLDER_NANOS;
    }

    /** One that has waited long is left alone: it is to have time for another turn before it would be refused. */
    boolean mayWaitAgain(long now) {
      return now - arrivalNanos <= settings.of(claim.serviceClass()).longestWait().toNanos() / 2;
    }

    /** Of an answer that does not stream nobody sees when its prompt has been read. */
    boolean isReading(long now) {
      return streams || generatedNanos(now) < 0;
    }

    /** Nor how much of it there is. */
    boolean losesLittle(long now) {
      return streams || generatedNanos(now) <= MOST_LOST_NANOS;
    }

    /** For how long the answer has been generated, if none of it shows. */
    private double generatedNanos(long now) {
      return now - sentNanos - (queueMs + prefillMs()) * 1e6;
    }

    /** Of what is queued at its worker, what would not be without it. */
    double unreadMs(long now) {
      return Math.clamp(-generatedNanos(now) / 1e6, 0, prefillMs());
    }

    private double prefillMs() {
      return chosen.booking().prefillMicros() / 1e3;
    }
  }

  /**
   * Notes that a request goes to its worker, if it may be taken back from there.
   *
   * @param check by which it goes
   * @param refund gets the tokens that were not computed, when it has been taken back
   */
  Decision.Planned sent(Decision.Planned planned, DecisionRequest request, GateCheck check, IntConsumer refund) {
    Selection.Chosen chosen = check.onlyChosen();
    if (chosen == null || planned.steps().size() > 1 || !check.claim().mayBePreempted()) {
      return planned;
    }
    Claim claim = check.claim().as(request.serviceClass());
    Sent sent = new Sent(planned.last(), claim, chosen, check.queueMs(), request.stream(), refund);
    open.add(sent);
    return sent.reservation.in(planned);
  }

  /** How many requests could be taken back if somebody needed their places. */
  int open() {
    return open.size();
  }

  /**
   * Whether a request may have the worker that was chosen for it: one that was made free for another is not for less
   * urgent ones.
   */
  boolean mayTake(DecisionRequest request, GateCheck check) {
    if (expectant.isEmpty()) {
      return true;
    }
    long now = clock.nanos();
    for (Preemptor each : expectant) {
      if (each.expectsMoreUrgently(request, check, now)) {
        return false;
      }
    }
    return true;
  }

  /** A request that waits, and what is taken back for it. Confined to the thread that gives turns. */
  final class Preemptor {
    private final DecisionRequest request;
    private volatile @Nullable Sent latest;
    private int count;

    Preemptor(DecisionRequest request) {
      this.request = request;
    }

    /** It was tried, and waits no longer. */
    void ended() {
      expectant.remove(this);
    }

    private boolean expectsMoreUrgently(DecisionRequest other, GateCheck check, long now) {
      Sent its = latest;
      if (its == null || now - its.latestStepNanos >= HOLDER_NANOS) {
        expectant.remove(this);
        return false;
      }
      return other.serviceClass().compareTo(request.serviceClass()) > 0 && check.takes(its.chosen.slot());
    }

    /** It was held at its turn. */
    void held(GateCheck check) {
      long now = clock.nanos();
      Sent before = latest;
      if (before != null && before.isAwaited(now)) {
        return;
      }
      expectant.remove(this);
      if (count >= MOST_FOR_ONE || open.isEmpty() || !isLate(check)) {
        return;
      }
      Sent youngest = null;
      BitSet slots = null;
      for (Sent sent : open) {
        if ((youngest == null || sent.sentNanos - youngest.sentNanos > 0) && helps(sent, request, check, now)) {
          // Of a busy worker the profile has chosen already.
          if (check.holdReason() == HoldReason.FULL) {
            slots = slots == null ? slotsWithAPlaceMore.apply(request) : slots;
            if (!slots.get(sent.chosen.slot())) {
              continue;
            }
          }
          youngest = sent;
        }
      }
      if (youngest != null) {
        count++;
        latest = youngest;
        youngest.latestStepNanos = now;
        expectant.add(this);
        youngest.preempt();
      }
    }
  }

  /** Whether a request will have waited longer than the bound of its class on the work before it. */
  private boolean isLate(GateCheck check) {
    double boundMs = boundMs(check);
    double yetMs = check.holdReason() == HoldReason.BUSY ? check.queueMs() - boundMs : 0;
    return check.claim().waitedMillis() + yetMs > boundMs;
  }

  private double boundMs(GateCheck check) {
    return settings.of(check.claim().serviceClass()).engineQueue().toMillis();
  }

  private boolean helps(Sent sent, DecisionRequest request, GateCheck check, long now) {
    return sent.claim.serviceClass().compareTo(request.serviceClass()) > 0
        && sent.reservation.isPreemptible()
        && !sent.isAwaited(now)
        && sent.mayWaitAgain(now)
        && sent.losesLittle(now)
        && makesRoom(sent, request, check, now);
  }

  private boolean makesRoom(Sent sent, DecisionRequest request, GateCheck check, long now) {
    Selection.Chosen chosen = check.onlyChosen();
    return switch (check.holdReason()) {
      case BUSY -> chosen != null && chosen.slot() == sent.chosen.slot() && sent.isReading(now)
          && check.queueMs() - sent.unreadMs(now) <= boundMs(check);
      // Where places are kept for others, it would not get this one.
      case FULL -> check.rivals() == 0 && hasRoomWithout(sent, request, boundMs(check), now);
      case TURN, KEPT, PROGRAM, WORKER -> false;
    };
  }

  private boolean hasRoomWithout(Sent sent, DecisionRequest request, double boundMs, long now) {
    Worker worker = sent.chosen.worker();
    double queueMs = engines.queueMs(worker, request.model());
    if (queueMs == Double.POSITIVE_INFINITY || request.constraints().excluded().contains(worker.id())) {
      return false;
    }
    double without = queueMs - (sent.isReading(now) ? sent.unreadMs(now) : 0);
    return !engines.isCostKnown(worker) || without <= boundMs;
  }
}
