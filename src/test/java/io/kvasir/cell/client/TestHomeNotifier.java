package io.kvasir.cell.client;

import io.kvasir.cell.home.Cell;
import io.kvasir.cell.ledger.InFlightLoad;
import io.kvasir.cell.ledger.OpenReservations;
import io.kvasir.cell.ledger.ReservationEvent;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/** Tells a home each thing by itself. */
final class TestHomeNotifier implements HomeNotifier {
  private final String node;
  private final Consumer<Cell.Message> home;

  private TestHomeNotifier(String node, Consumer<Cell.Message> home) {
    this.node = node;
    this.home = home;
  }

  static HomeNotifier by(String node, Consumer<Cell.Message> home) {
    return new TestHomeNotifier(node, home);
  }

  @Override
  public void reservationChanged(ReservationEvent notice) {
    home.accept(new Cell.ReservationEvents(node, List.of(notice)));
  }

  @Override
  public void declare(long incarnation, List<InFlightLoad> loads) {
    home.accept(new Cell.Declare(node, incarnation, loads));
  }

  @Override
  public CompletableFuture<Boolean> declareOpen(OpenReservations open) {
    throw new AssertionError("declared by cells, not by their loads");
  }
}
