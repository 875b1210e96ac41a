package io.kvasir.cell.ledger;

import io.kvasir.cell.Decision;
import io.kvasir.cell.Outcome;
import io.kvasir.cell.Reservation;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A reservation whose holder may be notified that the cell takes the request back. Thread-safe; {@link #preempt} is
 * called by one thread at a time.
 */
public final class PreemptibleReservation extends WatchedReservation {
  private final Consumer<Outcome> end;
  private volatile @Nullable Runnable holder;
  private volatile boolean answering;
  private volatile boolean over;

  private PreemptibleReservation(Reservation reservation, Consumer<Outcome> end) {
    super(reservation);
    this.end = end;
  }

  /**
   * A reservation that may be taken back.
   *
   * @param end gets the outcome, once, after the load has been given back
   */
  public static PreemptibleReservation of(Reservation reservation, Consumer<Outcome> end) {
    return new PreemptibleReservation(reservation, end);
  }

  /** The plan of one step with this as its reservation. */
  public Decision.Planned in(Decision.Planned planned) {
    return planned.with(List.of(planned.last().with(this)), planned.reason());
  }

  @Override
  public void onPreempt(Runnable preempt) {
    holder = preempt;
  }

  @Override
  public void firstToken() {
    answering = true;
    super.firstToken();
  }

  @Override
  public void progressed() {
    if (!answering) {
      answering = true;
    }
    super.progressed();
  }

  @Override
  void ended(Outcome outcome) {
    over = true;
    end.accept(outcome);
  }

  /** Whether its holder can be notified, and its answer has not begun as far as is known here. */
  public boolean isPreemptible() {
    return holder != null && !answering && !over;
  }

  /** Whether its answer has begun, or it is over: it will not be taken back any more. */
  public boolean isSettled() {
    return answering || over;
  }

  /** Notifies its holder, who decides; nothing when there is none. */
  public void preempt() {
    Runnable known = holder;
    if (known != null) {
      known.run();
    }
  }
}
