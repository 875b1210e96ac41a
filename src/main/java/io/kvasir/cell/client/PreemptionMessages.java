package io.kvasir.cell.client;

import io.kvasir.cell.ClusterMessage;
import io.kvasir.cell.directory.NodeNames;
import io.kvasir.cell.view.RemoteDecisions;
import org.apache.pekko.actor.typed.ActorRefResolver;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.Props;
import org.apache.pekko.actor.typed.javadsl.Behaviors;

/**
 * Messages from the homes of cells to the nodes that hold their reservations, of requests that are to be taken back
 * from their workers. A node of an earlier version has no request that may be. Thread-safe.
 */
final class PreemptionMessages implements RemoteDecisions.Holders {
  private static final String NAME = "kvasir-preemptions";

  private final ActorRefResolver resolver;

  /**
   * Takes a request back.
   *
   * @param node the node that holds it: its address and incarnation
   * @param reservation the node's id of it
   */
  record Preempt(String node, String cell, long reservation) implements ClusterMessage {}

  PreemptionMessages(ActorSystem<?> system) {
    this.resolver = ActorRefResolver.get(system);
  }

  @Override
  public void preempt(String node, String cell, long reservation) {
    resolver
        .<Preempt>resolveActorRef(NodeNames.address(node) + "/system/" + NAME)
        .tell(new Preempt(node, cell, reservation));
  }

  /** Begins to take requests of this node back. */
  static void receive(ActorSystem<?> system, String self, RemoteCells cells) {
    var _ = system.systemActorOf(receiver(self, cells), NAME, Props.empty());
  }

  private static Behavior<Preempt> receiver(String self, RemoteCells cells) {
    return Behaviors.receiveMessage(
        message -> {
          RemoteCell cell = cells.ifKnown(message.cell());
          if (cell != null && message.node().equals(self)) {
            cell.preempt(message.reservation());
          }
          return Behaviors.same();
        });
  }
}
