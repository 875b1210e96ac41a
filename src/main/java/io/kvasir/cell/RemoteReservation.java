package io.kvasir.cell;

import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A reservation of this node on a worker whose cell's ledger is kept elsewhere. What becomes of it is told to the home
 * that has it in its ledger, each step once; none has it while the cell is without a home. Thread-safe.
 */
final class RemoteReservation implements Reservation {
  /** {@link #home} while no home has it in its ledger. */
  static final long NONE = 0;

  private final String node;
  private final OpenLoad load;
  private final OpenLoads loads;
  private final Consumer<Cell.Message> cell;
  private final Watcher watcher;
  private final ReservationSteps steps = new ReservationSteps();
  private volatile long home;
  private volatile @Nullable Outcome outcome;

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
   * @param node this node's name at the cell's homes
   * @param load what it is to begin with
   * @param home the incarnation of the home that has it in its ledger, {@link #NONE} if none does
   */
  RemoteReservation(
      String node, OpenLoad load, long home, OpenLoads loads, Consumer<Cell.Message> cell, Watcher watcher) {
    this.node = node;
    this.load = load;
    this.home = home;
    this.loads = loads;
    this.cell = cell;
    this.watcher = watcher;
    loads.opened(this, home);
  }

  @Override
  public void firstToken() {
    if (steps.settle() != null) {
      tell(new Cell.FirstToken(node, load.reservation()));
    }
    watcher.moved();
  }

  @Override
  public void readsPrompt() {
    if (steps.read()) {
      tell(new Cell.ReadsPrompt(node, load.reservation()));
    }
  }

  @Override
  public void moved() {
    watcher.moved();
  }

  @Override
  public void close(Outcome how) {
    if (steps.close() != null) {
      outcome = how;
      loads.closed(this);
      tell(close());
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

  /** Tells the home again what may have been told before it was declared, and so been of no use. */
  void catchUp(OpenLoad declared) {
    switch (steps.state()) {
      case PENDING -> {}
      case READING -> {
        if (!declared.readsPrompt()) {
          tell(new Cell.ReadsPrompt(node, declared.reservation()));
        }
      }
      case SETTLED -> {
        if (!declared.firstToken()) {
          tell(new Cell.FirstToken(node, declared.reservation()));
        }
      }
      case CLOSED -> tell(close());
    }
  }

  private Cell.Close close() {
    Outcome how = outcome;
    return new Cell.Close(
        node, load.reservation(), WireOutcome.of(how == null ? new Outcome.Cancelled() : how));
  }

  private void tell(Cell.Message message) {
    if (home != NONE) {
      cell.accept(message);
    }
  }
}
