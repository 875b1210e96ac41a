package io.kvasir.cell.view;

import io.kvasir.admission.AdmissionRefusal;
import io.kvasir.admission.Claim;
import io.kvasir.admission.HoldReason;
import io.kvasir.admission.Standing;
import io.kvasir.admission.Waiter;
import io.kvasir.admission.WaitingRoom;
import io.kvasir.cell.Decision;
import io.kvasir.cell.Outcome;
import io.kvasir.time.NanoClock;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** A request that waits for its turn in the room of a cell, and what comes of it. Thread-safe. */
final class PendingDecision implements Waiter {
  private final Claim claim;
  private final Tries tries;
  private final NanoClock clock;
  private final long startNanos;

  /** Confined to the thread that gives turns. */
  private final HoldTimes held;

  private final CompletableFuture<TurnResult> result = new CompletableFuture<>();
  private volatile WaitingRoom.@Nullable Place place;

  /** How it is tried whether a request may go. */
  interface Tries {
    /** A look that has not begun. */
    GateCheck check(Claim claim, Standing standing);

    /** Decides if the gates let the request go or refuse it; null when it waits on. */
    @Nullable Decision decide(GateCheck check);
  }

  /**
   * A request that is about to wait.
   *
   * @param reason what for, as far as is known
   */
  PendingDecision(Claim claim, HoldReason reason, Tries tries, NanoClock clock) {
    this.claim = claim;
    this.tries = tries;
    this.clock = clock;
    this.startNanos = clock.nanos();
    this.held = new HoldTimes(reason, startNanos);
  }

  /** It has a place in the room. */
  void placed(WaitingRoom.Place at) {
    place = at;
  }

  /** Completes when the wait is over. */
  CompletableFuture<TurnResult> result() {
    return result;
  }

  @Override
  public Attempt attempt(Standing standing) {
    if (result.isDone()) {
      return new Attempt.Ended();
    }
    try {
      return tryNow(standing);
    } catch (RuntimeException failed) {
      result.completeExceptionally(failed);
      return new Attempt.Ended();
    }
  }

  private Attempt tryNow(Standing standing) {
    long waited = Math.max(1, claim.waitedMillis() + (clock.nanos() - startNanos) / 1_000_000);
    GateCheck check = tries.check(claim.waited(waited), standing);
    Decision decision = tries.decide(check);
    return switch (decision) {
      case null -> {
        held.heldFor(check.holdReason(), clock.nanos());
        yield new Attempt.Held(check.holdReason());
      }
      case Decision.NoWorker none -> {
        result.complete(new TurnResult.Decided(none));
        yield new Attempt.Ended();
      }
      case Decision.Planned planned -> {
        String reason = "%s; waited=%d%s".formatted(planned.reason(), waited, held.text(clock.nanos()));
        Decision after = planned.with(planned.steps(), reason).waited(waited);
        if (!result.complete(new TurnResult.Decided(after))) {
          planned.close(new Outcome.Cancelled());
          yield new Attempt.Ended();
        }
        yield new Attempt.Went(check.promptTokens(), check.uncachedTokens());
      }
    };
  }

  @Override
  public void refused(AdmissionRefusal refusal) {
    result.complete(new TurnResult.Decided(Decision.NoWorker.refused(refusal)));
  }

  @Override
  public void dismissed() {
    result.complete(new TurnResult.Moved());
  }

  /** Ends the wait, unless it is over. */
  void cancel() {
    result.complete(new TurnResult.Cancelled());
    WaitingRoom.Place at = place;
    if (at != null) {
      at.leave();
    }
  }

  /** Ends the wait, or takes back what it led to: nobody will have that. */
  void discard() {
    cancel();
    if (result.getNow(null) instanceof TurnResult.Decided(Decision.Planned planned)) {
      planned.close(new Outcome.Cancelled());
    }
  }
}
