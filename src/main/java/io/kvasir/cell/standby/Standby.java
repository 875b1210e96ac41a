package io.kvasir.cell.standby;

import io.kvasir.cell.ClusterMessage;
import java.time.Duration;
import java.util.Set;
import java.util.function.Consumer;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.PostStop;
import org.apache.pekko.actor.typed.javadsl.Behaviors;

/**
 * Keeps this node's replica of a cell whose home is another node: requests it from the home again and again, writes the
 * frames that come, and acknowledges them. A new home sends a snapshot first.
 */
public final class Standby {
  private static final Duration REQUEST_INTERVAL = Duration.ofMillis(500);

  /** The messages to a standby. */
  public sealed interface Message permits ReplicaFrame, WorkerRemoved, ReachablePods, RequestReplica {}

  /** A worker has left the cell. */
  public record WorkerRemoved(String worker, long stream) implements Message, ClusterMessage {}

  /** The pods of the cell that can be reached. */
  public record ReachablePods(Set<String> pods) implements Message, ClusterMessage {}

  /** What the home is answered: how far a worker's copy on a node has come. */
  public record Acknowledged(String node, long stream, long next, boolean missing) implements ClusterMessage {}

  private enum RequestReplica implements Message { INSTANCE }

  private Standby() {}

  /**
   * Keeps a copy until it is stopped.
   *
   * @param node this node's name
   * @param subscribe requests of the cell's home, whichever node that is, to send frames to a replica
   */
  public static Behavior<Message> create(
      String cell, CellReplica copy, CellReplicas copies, String node, Consumer<ActorRef<Message>> subscribe) {
    return Behaviors.setup(
        context ->
            Behaviors.withTimers(
                timers -> {
                  copies.put(cell, copy);
                  timers.startTimerWithFixedDelay(RequestReplica.INSTANCE, Duration.ZERO, REQUEST_INTERVAL);
                  ActorRef<Message> self = context.getSelf();
                  return Behaviors.receive(Message.class)
                      .onMessage(ReplicaFrame.class, frame -> receive(frame, copy, node))
                      .onMessage(
                          WorkerRemoved.class,
                          left -> {
                            copy.removeWorker(left.worker(), left.stream());
                            return Behaviors.same();
                          })
                      .onMessage(
                          ReachablePods.class,
                          well -> {
                            copy.setReachable(well.pods());
                            return Behaviors.same();
                          })
                      .onMessage(
                          RequestReplica.class,
                          _ -> {
                            subscribe.accept(self);
                            return Behaviors.same();
                          })
                      .onSignal(
                          PostStop.class,
                          _ -> {
                            copies.withdraw(cell, copy);
                            return Behaviors.same();
                          })
                      .build();
                }));
  }

  private static Behavior<Message> receive(ReplicaFrame frame, CellReplica copy, String node) {
    CellReplica.ReceivedUpTo come = copy.receive(frame);
    if (come != null) {
      frame.replyTo().tell(new Acknowledged(node, come.stream(), come.next(), come.missing()));
    }
    return Behaviors.same();
  }
}
