package io.kvasir.cell.ledger;

import io.kvasir.cell.PrefixHold;
import io.kvasir.cell.worker.HitPrediction;
import io.kvasir.cell.worker.Member;
import io.kvasir.cell.worker.SendOrder;
import io.kvasir.index.Chain;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/**
 * The requests that were decided for a worker before one of its requests, which counts on blocks that they are to
 * compute: it is held until they have been sent, or have been computed where the engine shares blocks only then. It has
 * a place among them itself, since later ones may count on it. Thread-safe.
 */
final class EarlierRequests {
  /** Longer than it takes to write a request, shorter than what computing its prompt again would cost. */
  private static final long MAX_WAIT_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

  /** Between two looks at what an engine has computed meanwhile: nobody is notified of that. */
  private static final long FIRST_LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

  private static final long LAST_LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(16);

  private static final long NEVER = Long.MIN_VALUE;

  private final Member member;
  private final Chain chain;
  private final SendOrder.Place place;
  private final HitPrediction hitPrediction;
  private final int depth;
  private final double queueMs;

  /** Since when it is held, on the member's clock; {@link #NEVER} before. */
  private volatile long heldSince = NEVER;

  /**
   * Those before a request.
   *
   * @param chain of its prompt
   * @param place its own
   * @param hitPrediction what the engine had of its prompt as it was decided
   * @param depth leading blocks of its prompt that it counts on
   * @param queueMs estimated milliseconds of what is pending before it
   */
  EarlierRequests(
      Member member, Chain chain, SendOrder.Place place, HitPrediction hitPrediction, int depth, double queueMs) {
    this.member = member;
    this.chain = chain;
    this.place = place;
    this.hitPrediction = hitPrediction;
    this.depth = depth;
    this.queueMs = queueMs;
  }

  /** As {@link io.kvasir.cell.Reservation#awaitEarlier}. */
  PrefixHold await(BooleanSupplier cancelled) {
    if (!areCountedOn()) {
      return PrefixHold.NONE;
    }
    try {
      if (sharesOnceComputed()) {
        return awaitComputed(cancelled);
      }
      int confirmed = hitPrediction.confirmed();
      if (!place.inquireEarlier(confirmed)) {
        return PrefixHold.NONE;
      }
      return place.awaitEarlier(confirmed, MAX_WAIT_NANOS) ? PrefixHold.COMPUTED : PrefixHold.OVERDUE;
    } catch (InterruptedException stopping) {
      Thread.currentThread().interrupt();
      return PrefixHold.CANCELLED;
    }
  }

  /** Waits until earlier requests have computed what it counts on, or will not, or should have long ago. */
  private PrefixHold awaitComputed(BooleanSupplier cancelled) throws InterruptedException {
    long look = FIRST_LOOK_NANOS;
    int computed = hitPrediction.confirmed();
    PrefixHold hold = holdBeyond(computed);
    if (hold == PrefixHold.NONE) {
      return hold;
    }
    while (hold == PrefixHold.HELD && !cancelled.getAsBoolean()) {
      boolean _ = place.awaitEarlier(computed, look);
      look = Math.min(2 * look, LAST_LOOK_NANOS);
      computed = member.cache().reported(chain);
      hold = holdBeyond(computed);
    }
    return switch (hold) {
      case NONE -> PrefixHold.COMPUTED;
      case HELD -> PrefixHold.CANCELLED;
      case COMPUTED, OVERDUE, UNKNOWN, CANCELLED -> hold;
    };
  }

  /** As {@link io.kvasir.cell.Reservation#prefixHold}. */
  PrefixHold hold() {
    if (!areCountedOn()) {
      return PrefixHold.NONE;
    }
    int confirmed = hitPrediction.confirmed();
    if (sharesOnceComputed()) {
      return place.hasEarlier(confirmed) ? holdBeyond(member.cache().reported(chain)) : PrefixHold.NONE;
    }
    return place.inquireEarlier(confirmed) ? holdFor(MAX_WAIT_NANOS) : PrefixHold.NONE;
  }

  /**
   * Whether it counts on blocks that its engine will confirm. Without events none ever are, so that all that begin
   * alike would wait for one another, always.
   */
  private boolean areCountedOn() {
    return hitPrediction.confirmed() < depth && member.cache().confirmsPredictions();
  }

  /**
   * Whether it is to be held now. It may be for as long as the worker may take for the prompts before it without
   * counting as stalled: what comes later than that the router does not count on elsewhere, either.
   *
   * @param computed leading blocks of its prompt that the engine has
   */
  private PrefixHold holdBeyond(int computed) {
    return computed >= depth || !place.hasEarlier(computed)
        ? PrefixHold.NONE
        : holdFor(member.health().stallDetector().longestSilence(queueMs));
  }

  private PrefixHold holdFor(long longestNanos) {
    long now = member.nanos();
    if (heldSince == NEVER) {
      heldSince = now;
    }
    return now - heldSince < longestNanos ? PrefixHold.HELD : PrefixHold.OVERDUE;
  }

  private boolean sharesOnceComputed() {
    return member.cache().sharesOnceComputed();
  }

  /** As {@link io.kvasir.cell.Reservation#onAwaited}. */
  void onAwaited(Runnable inquiry) {
    place.onAwaited(inquiry);
  }

  /** It is sent: later ones may follow, unless they wait for what it computes. */
  void sent() {
    if (!sharesOnceComputed()) {
      place.leave();
    }
  }

  /** Later ones may follow: it has computed its prompt, or never will. */
  void leave() {
    place.leave();
  }
}
