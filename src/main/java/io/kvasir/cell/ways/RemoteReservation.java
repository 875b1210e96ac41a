package io.kvasir.cell.ways;

import io.kvasir.cell.Outcome;
import io.kvasir.cell.Reservation;
import io.kvasir.cell.ledger.Notice;
import io.kvasir.cell.ledger.OpenLoad;
import io.kvasir.cell.ledger.ReservationSteps;
import org.jspecify.annotations.Nullable;

/**
 * A reservation of this node on a worker whose cell's ledger is kept elsewhere. What becomes of it is told to the home
 * that has it in its ledger, each step once; none has it while the cell is without a home. Thread-safe.
 */
final class RemoteReservation implements Reservation {
  /** {@link #home} while no home has it in its ledger. */
  static final long NONE = 0;

  private final OpenLoad load;
  private final OpenLoads loads;
  private final Told told;
  private final Watcher watcher;
  private final ReservationSteps steps = new ReservationSteps();
  private volatile long home;

  /** Sees what becomes of it here. */
  interface Watcher {
    /** A piece of the answer came. Cheap, and called for every piece. */
    void moved();

    /** It is over. Once. */
    default void closed(Outcome outcome) {}
  }

  /**
   * A load that begins.
   *
   * @param load what it is to begin with
   * @param home the incarnation of the home that has it in its ledger, {@link #NONE} if none does
   */
  RemoteReservation(OpenLoad load, long home, OpenLoads loads, Told told, Watcher watcher) {
    this.load = load;
    this.home = home;
    this.loads = loads;
    this.told = told;
    this.watcher = watcher;
    loads.opened(this, home);
  }

  @Override
  public void firstToken() {
    if (steps.settle() != null) {
      tell(Notice.firstToken(load.reservation()));
    }
    watcher.moved();
  }

  @Override
  public void readsPrompt() {
    if (steps.read()) {
      tell(Notice.readsPrompt(load.reservation()));
    }
  }

  @Override
  public void moved() {
    watcher.moved();
  }

  @Override
  public void close(Outcome how) {
    if (steps.close() != null) {
      loads.closed(this);
      tell(Notice.closed(load.reservation(), how));
      watcher.closed(how);
    }
  }

  /** What a home that did not know of it is told; null when there is nothing to tell any more. */
  @Nullable OpenLoad declareTo(long incarnation) {
    if (home == incarnation) {
      return null;
    }
    // Before the state is read: what changes it from now on finds a home to tell.
    home = incarnation;
    return switch (steps.state()) {
      case PENDING -> load;
      case READING -> load.reading();
      case SETTLED -> load.begun();
      case CLOSED -> null;
    };
  }

  private void tell(Notice notice) {
    if (home != NONE) {
      told.notice(notice);
    }
  }
}
