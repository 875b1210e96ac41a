package io.kvasir.cell.client;

import io.kvasir.cell.Outcome;
import io.kvasir.cell.PrefixHold;
import io.kvasir.cell.Reservation;
import io.kvasir.cell.ledger.InFlightLoad;
import io.kvasir.cell.ledger.ReservationEvent;
import io.kvasir.cell.ledger.ReservationLifecycle;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A reservation of this node on a worker of a cell whose home is another node. The home that has it in its ledger is
 * notified of each change once; none has it while the cell is without a home. Thread-safe.
 */
final class RemoteReservation implements Reservation {
  /** {@link #home} while no home has it in its ledger. */
  static final long NONE = 0;

  private final InFlightLoad load;
  private final InFlightLoads loads;
  private final HomeNotifier notifier;
  private final Watcher watcher;

  /** Where the request is held before it is sent; null for one that is not. */
  private final @Nullable RemoteHolds holds;

  private final ReservationLifecycle lifecycle = new ReservationLifecycle();
  private volatile long home;
  private volatile @Nullable Runnable preempt;
  private volatile boolean sent;

  /** Watches a reservation on this node. */
  interface Watcher {
    /** A piece of the answer came. Cheap, and called for every piece. */
    void progressed();

    /** It is over. Once. */
    default void closed(Outcome outcome) {}
  }

  /** A load that begins, of a request that is not held. */
  RemoteReservation(InFlightLoad load, long home, InFlightLoads loads, HomeNotifier notifier, Watcher watcher) {
    this(load, home, loads, notifier, watcher, null);
  }

  /**
   * A load that begins.
   *
   * @param load what it is to begin with
   * @param home the incarnation of the home that has it in its ledger, {@link #NONE} if none does
   * @param holds where the request is held before it is sent, null for one that is not
   */
  RemoteReservation(
      InFlightLoad load, long home, InFlightLoads loads, HomeNotifier notifier, Watcher watcher,
      @Nullable RemoteHolds holds) {
    this.holds = holds;
    this.load = load;
    this.home = home;
    this.loads = loads;
    this.notifier = notifier;
    this.watcher = watcher;
    loads.opened(this, home);
  }

  @Override
  public PrefixHold awaitEarlier(BooleanSupplier cancelled) {
    return holds == null ? PrefixHold.NONE : holds.await(load.reservation(), cancelled);
  }

  @Override
  public void onPreempt(Runnable holder) {
    preempt = holder;
  }

  /** The home takes the request back; nothing when its holder does not let it. */
  void preempt() {
    Runnable holder = preempt;
    if (holder != null) {
      holder.run();
    }
  }

  @Override
  public void sent() {
    sent = true;
    reportSent();
  }

  /** The home learns that the request is sent, if it is and the home waits for that. */
  void reportSent() {
    if (sent && loads.takeAwaited(load.reservation())) {
      send(ReservationEvent.sent(load.reservation()));
    }
  }

  @Override
  public void firstToken() {
    if (lifecycle.settle() != null) {
      send(ReservationEvent.firstToken(load.reservation()));
    }
    watcher.progressed();
  }

  @Override
  public void prefillLocally() {
    if (lifecycle.prefillLocally()) {
      send(ReservationEvent.localPrefill(load.reservation()));
    }
  }

  @Override
  public void progressed() {
    watcher.progressed();
  }

  @Override
  public void close(Outcome how) {
    if (lifecycle.close() != null) {
      // Before it leaves the loads: once it is not declared as open, its end has been sent, or goes with that.
      send(ReservationEvent.closed(load.reservation(), how));
      loads.closed(this);
      watcher.closed(how);
    }
  }

  /** This node's id of it. */
  long id() {
    return load.reservation();
  }

  /** The load as it is declared to a home that does not know it; null when that is needless. */
  @Nullable InFlightLoad declareTo(long incarnation) {
    if (home == incarnation) {
      return null;
    }
    // Before the state is read: what changes it from now on finds a home to notify.
    home = incarnation;
    return switch (lifecycle.state()) {
      case PENDING -> load;
      case PREFILLING_LOCALLY -> load.withLocalPrefill();
      case SETTLED -> load.begun();
      case CLOSED -> null;
    };
  }

  private void send(ReservationEvent event) {
    if (home != NONE) {
      notifier.reservationChanged(event);
    }
  }
}
