package io.kvasir.cell.ways;

import io.kvasir.cell.home.Cell;
import io.kvasir.cell.ledger.Notice;
import io.kvasir.cell.ledger.OpenLoad;
import java.util.List;
import java.util.function.Consumer;

/** Tells a home each thing by itself. */
final class TestTold implements Told {
  private final String node;
  private final Consumer<Cell.Message> home;

  private TestTold(String node, Consumer<Cell.Message> home) {
    this.node = node;
    this.home = home;
  }

  static Told by(String node, Consumer<Cell.Message> home) {
    return new TestTold(node, home);
  }

  @Override
  public void notice(Notice notice) {
    home.accept(new Cell.Notices(node, List.of(notice)));
  }

  @Override
  public void declare(long incarnation, List<OpenLoad> loads) {
    home.accept(new Cell.Declare(node, incarnation, loads));
  }
}
