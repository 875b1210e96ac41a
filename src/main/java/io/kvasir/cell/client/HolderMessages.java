package io.kvasir.cell.client;

import io.kvasir.cell.ClusterMessage;
import io.kvasir.cell.directory.NodeNames;
import io.kvasir.cell.view.DecisionServer;
import org.apache.pekko.actor.typed.ActorRefResolver;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.Props;
import org.apache.pekko.actor.typed.javadsl.Behaviors;

/**
 * Messages from the homes of cells to the nodes that hold their reservations. A node of an earlier version gets none:
 * no request of it is taken back, and what counts on it waits as long as for one that is not sent. Thread-safe.
 */
final class HolderMessages implements DecisionServer.Holders {
  private static final String NAME = "kvasir-holders";

  private final ActorRefResolver resolver;

  /**
   * Something about a request of the node.
   *
   * @param node the node that holds it: its address and incarnation
   * @param cell the cell that has it in its ledger
   * @param reservation the node's id of it
   */
  record Message(String node, String cell, long reservation, DecisionServer.Notice notice) implements ClusterMessage {}

  HolderMessages(ActorSystem<?> system) {
    this.resolver = ActorRefResolver.get(system);
  }

  @Override
  public void send(String node, String cell, long reservation, DecisionServer.Notice notice) {
    resolver
        .<Message>resolveActorRef(NodeNames.address(node) + "/system/" + NAME)
        .tell(new Message(node, cell, reservation, notice));
  }

  /** Begins to receive what homes have for this node. */
  static void receive(ActorSystem<?> system, String self, RemoteCells cells) {
    var _ = system.systemActorOf(receiver(self, cells), NAME, Props.empty());
  }

  private static Behavior<Message> receiver(String self, RemoteCells cells) {
    return Behaviors.receiveMessage(
        message -> {
          RemoteCell cell = cells.ifKnown(message.cell());
          if (cell != null && message.node().equals(self)) {
            switch (message.notice()) {
              case PREEMPT -> cell.preempt(message.reservation());
              case REPORT_SENT -> cell.reportSent(message.reservation());
            }
          }
          return Behaviors.same();
        });
  }
}
