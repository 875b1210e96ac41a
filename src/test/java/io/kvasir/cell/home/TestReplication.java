package io.kvasir.cell.home;

import io.kvasir.cell.standby.CellCopies;
import io.kvasir.cell.standby.CellNodesKeeper;
import io.kvasir.cell.standby.NodesByCell;
import org.apache.pekko.actor.testkit.typed.javadsl.ActorTestKit;

/** A node without others, for cells in tests. */
final class TestReplication {
  private TestReplication() {}

  /** No cell has copies, and nobody is told where any is. */
  static Replication none(ActorTestKit kit) {
    return new Replication(
        "node", 0, new NodesByCell(), new CellCopies(), kit.<CellNodesKeeper.Message>createTestProbe().ref(),
        cell -> {
          throw new IllegalStateException("cell " + cell + " does not move");
        });
  }
}
