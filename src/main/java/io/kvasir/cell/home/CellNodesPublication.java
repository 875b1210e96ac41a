package io.kvasir.cell.home;

import io.kvasir.cell.directory.CellNodes;
import io.kvasir.cell.directory.CellNodesKeeper;
import java.time.Duration;
import java.util.function.BiConsumer;
import org.apache.pekko.actor.typed.ActorRef;
import org.jspecify.annotations.Nullable;

/** What every node reads of a cell's nodes, as the cell's home publishes it. The cell's actor's. */
final class CellNodesPublication {
  /** Between the replicator's answer and the moment at which every node's threads read it. */
  private static final Duration PROPAGATION = Duration.ofMillis(250);

  private final String cell;
  private final ActorRef<CellNodesKeeper.Message> keeper;
  private final BiConsumer<Duration, Runnable> scheduler;
  private State state = new State.Unpublished();

  private sealed interface State {
    /** Nothing is, before the first time or since it was withdrawn. */
    record Unpublished() implements State {}

    /** Not every node has it yet. */
    record Sent(CellNodes nodes) implements State {}

    /** Every node has it, or could not receive it in time. */
    record Received(CellNodes nodes) implements State {}

    default @Nullable CellNodes latest() {
      return switch (this) {
        case Unpublished() -> null;
        case Sent(CellNodes nodes) -> nodes;
        case Received(CellNodes nodes) -> nodes;
      };
    }
  }

  /**
   * Nothing is published.
   *
   * @param later runs something on a turn of the cell's actor, after a while; called by whichever thread
   */
  CellNodesPublication(
      String cell, ActorRef<CellNodesKeeper.Message> keeper, BiConsumer<Duration, Runnable> later) {
    this.cell = cell;
    this.keeper = keeper;
    this.scheduler = later;
  }

  /**
   * Publishes the nodes, unless they are the same as before.
   *
   * @param moveReceived runs on a turn of the cell's actor when every node has received that the cell moves; not when
   *     it does not, or something else has been published since
   */
  void publish(CellNodes nodes, Runnable moveReceived) {
    if (!nodes.equals(state.latest())) {
      state = new State.Sent(nodes);
      keeper.tell(
          new CellNodesKeeper.Put(
              cell, nodes, () -> scheduler.accept(PROPAGATION, () -> received(nodes, moveReceived))));
    }
  }

  private void received(CellNodes nodes, Runnable moveReceived) {
    if (nodes.equals(state.latest())) {
      state = new State.Received(nodes);
      if (nodes.movingTo() != null) {
        moveReceived.run();
      }
    }
  }

  /** Whether every node has received to which node the cell moves. */
  boolean isMoveReceived() {
    return state instanceof State.Received(CellNodes nodes) && nodes.movingTo() != null;
  }

  /**
   * Publishes that the cell has no nodes, unless nothing is published.
   *
   * @param withdrawn runs on a turn of the cell's actor when every node has received that
   */
  void withdraw(Runnable withdrawn) {
    if (!(state instanceof State.Unpublished)) {
      state = new State.Unpublished();
      keeper.tell(new CellNodesKeeper.Remove(cell, () -> scheduler.accept(PROPAGATION, withdrawn)));
    }
  }
}
