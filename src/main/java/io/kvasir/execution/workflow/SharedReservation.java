package io.kvasir.execution.workflow;

import io.kvasir.cell.Decision;
import io.kvasir.cell.Outcome;
import io.kvasir.cell.PrefixHold;
import io.kvasir.cell.Reservation;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * One booked load for several requests of a step: closed with the last of them, with the worst of their outcomes.
 * Thread-safe.
 */
final class SharedReservation implements Reservation {
  private final Reservation delegate;
  private int open;
  private @Nullable Outcome worst;

  private SharedReservation(Reservation delegate, int requests) {
    this.delegate = delegate;
    this.open = requests;
  }

  /** The step as each of its requests holds it. */
  static Decision.Chosen share(Decision.Chosen chosen, int requests) {
    return requests == 1 ? chosen : chosen.with(new SharedReservation(chosen.reservation(), requests));
  }

  @Override
  public PrefixHold awaitEarlier(BooleanSupplier cancelled) {
    return delegate.awaitEarlier(cancelled);
  }

  @Override
  public void sent() {
    delegate.sent();
  }

  @Override
  public void firstToken() {}

  @Override
  public void prefillLocally() {}

  @Override
  public void progressed() {
    delegate.progressed();
  }

  @Override
  public void close(Outcome outcome) {
    Outcome last;
    synchronized (this) {
      if (worst == null || isFailure(outcome)) {
        worst = outcome;
      }
      open--;
      last = open == 0 ? worst : null;
    }
    if (last != null) {
      delegate.close(last);
    }
  }

  private static boolean isFailure(Outcome outcome) {
    return switch (outcome) {
      case Outcome.Failed _, Outcome.UnknownModel _, Outcome.Refused _ -> true;
      case Outcome.Completed _, Outcome.Cancelled _, Outcome.Preempted _ -> false;
    };
  }
}
