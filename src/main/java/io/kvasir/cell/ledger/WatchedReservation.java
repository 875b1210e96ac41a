package io.kvasir.cell.ledger;

import io.kvasir.cell.HitOutcome;
import io.kvasir.cell.Outcome;
import io.kvasir.cell.PrefixHold;
import io.kvasir.cell.Reservation;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** A reservation whose end somebody notes, once. Thread-safe. */
abstract class WatchedReservation implements Reservation {
  private final Reservation reservation;
  private final AtomicBoolean closed = new AtomicBoolean();

  WatchedReservation(Reservation reservation) {
    this.reservation = reservation;
  }

  /** Notes the end, after the load has been given back. */
  abstract void ended(Outcome outcome);

  @Override
  public PrefixHold awaitEarlier(BooleanSupplier cancelled) {
    return reservation.awaitEarlier(cancelled);
  }

  @Override
  public PrefixHold prefixHold() {
    return reservation.prefixHold();
  }

  @Override
  public void onAwaited(Runnable inquiry) {
    reservation.onAwaited(inquiry);
  }

  @Override
  public void sent() {
    reservation.sent();
  }

  @Override
  public void onPreempt(Runnable preempt) {
    reservation.onPreempt(preempt);
  }

  @Override
  public void firstToken() {
    reservation.firstToken();
  }

  @Override
  public void prefillLocally() {
    reservation.prefillLocally();
  }

  @Override
  public void progressed() {
    reservation.progressed();
  }

  @Override
  public @Nullable HitOutcome hitOutcome() {
    return reservation.hitOutcome();
  }

  @Override
  public void close(Outcome outcome) {
    reservation.close(outcome);
    if (closed.compareAndSet(false, true)) {
      ended(outcome);
    }
  }
}
