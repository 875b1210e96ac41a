package io.kvasir.picker;

import io.kvasir.cell.Outcome;
import io.kvasir.cell.PrefixHold;
import io.kvasir.cell.Reservation;
import java.util.List;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The load of a proxy's request: that of the worker which was chosen, until the proxy says that another has served, and
 * that of the steps before it, whose work nobody tells apart. Thread-safe.
 */
final class StreamReservation implements Reservation {
  private final List<Reservation> earlier;

  // Guarded by this.
  private Reservation worker;
  private @Nullable UnseenBookings unseen;
  private boolean firstToken;
  private @Nullable Outcome outcome;

  /**
   * The load of a plan.
   *
   * @param earlier that of the steps before the last
   */
  StreamReservation(Reservation worker, List<Reservation> earlier) {
    this.worker = worker;
    this.earlier = List.copyOf(earlier);
  }

  /** Moves the load to the worker that has served. */
  void move(Reservation served) {
    Reservation before;
    boolean begun;
    Outcome closed;
    synchronized (this) {
      before = worker;
      worker = served;
      begun = firstToken;
      closed = outcome;
    }
    before.close(new Outcome.Cancelled());
    if (begun) {
      served.firstToken();
    }
    if (closed != null) {
      served.close(closed);
    }
  }

  /** Keeps the load among those when it is given back, as nobody sees when the work ends; its outcome says nothing. */
  synchronized void unseen(UnseenBookings kept) {
    unseen = kept;
  }

  private synchronized Reservation worker() {
    return worker;
  }

  @Override
  public PrefixHold awaitEarlier(BooleanSupplier cancelled) {
    return worker().awaitEarlier(cancelled);
  }

  @Override
  public void sent() {
    worker().sent();
  }

  @Override
  public void firstToken() {
    Reservation now;
    synchronized (this) {
      firstToken = true;
      now = worker;
    }
    now.firstToken();
    closeEarlier();
  }

  private void closeEarlier() {
    // Where the prompt was computed nobody has told how that went.
    earlier.forEach(step -> step.close(new Outcome.Cancelled()));
  }

  @Override
  public void prefillLocally() {
    worker().prefillLocally();
  }

  @Override
  public void progressed() {
    worker().progressed();
  }

  @Override
  public void close(Outcome how) {
    Reservation now;
    UnseenBookings later;
    synchronized (this) {
      if (outcome != null) {
        return;
      }
      later = how instanceof Outcome.Completed ? unseen : null;
      outcome = later == null ? how : new Outcome.Cancelled();
      now = worker;
    }
    if (later == null) {
      now.close(how);
      closeEarlier();
    } else {
      later.add(this::closeUnseen);
    }
  }

  private void closeUnseen() {
    worker().close(new Outcome.Cancelled());
    closeEarlier();
  }
}
