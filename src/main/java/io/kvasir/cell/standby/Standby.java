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
 * Keeps this node's copy of a cell that is at home elsewhere: asks the home again and again to be told, writes what it
 * tells, and confirms it. A home that is new to it tells everything.
 */
public final class Standby {
  private static final Duration ASK_INTERVAL = Duration.ofMillis(500);

  /** What the copy is told. */
  public sealed interface Message permits CopyFrame, Left, Well, Ask {}

  /** A worker has left the cell. */
  public record Left(String worker, long stream) implements Message, ClusterMessage {}

  /** The pods of the cell that can be reached. */
  public record Well(Set<String> pods) implements Message, ClusterMessage {}

  /** What the home is answered: how far a worker's copy on a node has come. */
  public record Confirmed(String node, long stream, long next, boolean missing) implements ClusterMessage {}

  private enum Ask implements Message { INSTANCE }

  private Standby() {}

  /**
   * Keeps a copy until it is stopped.
   *
   * @param node this node's name
   * @param wanted has the cell's home, wherever it is, tell a copy
   */
  public static Behavior<Message> create(
      String cell, CellCopy copy, CellCopies copies, String node, Consumer<ActorRef<Message>> wanted) {
    return Behaviors.setup(
        context ->
            Behaviors.withTimers(
                timers -> {
                  copies.put(cell, copy);
                  timers.startTimerWithFixedDelay(Ask.INSTANCE, Duration.ZERO, ASK_INTERVAL);
                  ActorRef<Message> self = context.getSelf();
                  return Behaviors.receive(Message.class)
                      .onMessage(CopyFrame.class, frame -> take(frame, copy, node))
                      .onMessage(
                          Left.class,
                          left -> {
                            copy.left(left.worker(), left.stream());
                            return Behaviors.same();
                          })
                      .onMessage(
                          Well.class,
                          well -> {
                            copy.well(well.pods());
                            return Behaviors.same();
                          })
                      .onMessage(
                          Ask.class,
                          _ -> {
                            wanted.accept(self);
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

  private static Behavior<Message> take(CopyFrame frame, CellCopy copy, String node) {
    CellCopy.Come come = copy.take(frame);
    if (come != null) {
      frame.replyTo().tell(new Confirmed(node, come.stream(), come.next(), come.missing()));
    }
    return Behaviors.same();
  }
}
