package io.kvasir.cell.client;

import io.kvasir.cell.ClusterMessage;
import io.kvasir.cell.directory.CurrentRoster;
import io.kvasir.cell.view.CellPressure;
import io.kvasir.cell.view.CellViews;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.function.LongSupplier;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.actor.typed.pubsub.Topic;

/**
 * One per node: tells all nodes how pressed the cells at home here are, in one message, and hears the same from them.
 */
final class PressureBroadcast {
  private static final String TOPIC = "kvasir-cell-pressure";
  private static final Duration INTERVAL = Duration.ofMillis(500);

  /** What the actor is told. */
  sealed interface Message {}

  /** The pressure on the cells of some node. Crosses between nodes. */
  record PressureUpdate(Map<String, CellPressure> byCell) implements Message, ClusterMessage {}

  private enum Publish implements Message { INSTANCE }

  private PressureBroadcast() {}

  /** Tells and hears until it is stopped. */
  static Behavior<Message> create(CellViews views, CurrentRoster roster, PressureGauges gauges, LongSupplier nanos) {
    return Behaviors.setup(
        context ->
            Behaviors.withTimers(
                timers -> {
                  ActorRef<Topic.Command<Message>> topic =
                      context.spawn(Topic.create(Message.class, TOPIC), "topic");
                  topic.tell(Topic.subscribe(context.getSelf()));
                  timers.startTimerWithFixedDelay(Publish.INSTANCE, INTERVAL);
                  return Behaviors.receiveMessage(
                      message -> {
                        long now = nanos.getAsLong();
                        switch (message) {
                          case Publish _ -> {
                            Map<String, CellPressure> here = new HashMap<>();
                            views.all().forEach((cell, view) -> {
                              CellPressure pressure = view.pressure();
                              // One that has just come to its home is not full: it will know its workers soon.
                              if (pressure.capacity() > 0 || view.isWorkerHealthKnown()) {
                                here.put(cell, pressure);
                              }
                            });
                            if (!here.isEmpty()) {
                              topic.tell(Topic.publish(new PressureUpdate(here)));
                            }
                            gauges.retain(roster.get().cells());
                          }
                          case PressureUpdate said ->
                              said.byCell().forEach((cell, pressure) -> gauges.of(cell).update(pressure, now));
                        }
                        return Behaviors.same();
                      });
                }));
  }
}
