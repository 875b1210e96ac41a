package io.kvasir.cell.client;

import io.kvasir.cell.ClusterMessage;
import io.kvasir.cell.WorkerStatus.Health;
import io.kvasir.cell.directory.CurrentRoster;
import io.kvasir.cell.directory.Roster;
import io.kvasir.cell.view.CellPressure;
import io.kvasir.cell.view.CellView;
import io.kvasir.cell.view.CellViews;
import io.kvasir.time.NanoClock;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.actor.typed.pubsub.Topic;
import org.jspecify.annotations.Nullable;

/**
 * An actor, one per node, that publishes the pressure on the cells whose home is this node and the health of their
 * workers, all in one message, and puts what other nodes publish into the {@link CellReports}.
 */
final class PressureBroadcast {
  private static final String TOPIC = "kvasir-cell-pressure";
  private static final Duration INTERVAL = Duration.ofMillis(500);

  sealed interface Message {}

  /**
   * What a node publishes of the cells it is home of. Crosses between nodes.
   *
   * @param byCell the pressure on each cell that knows its workers
   * @param unhealthy of each cell the workers that are not healthy, by id; null from a node of an earlier version
   * @param losses of each cell how often workers were lost, by id; null from a node of an earlier version
   */
  record PressureUpdate(
      Map<String, CellPressure> byCell,
      @Nullable Map<String, Map<String, Health>> unhealthy,
      @Nullable Map<String, Map<String, Integer>> losses)
      implements Message, ClusterMessage {}

  private enum Publish implements Message { INSTANCE }

  private PressureBroadcast() {}

  static Behavior<Message> create(CellViews views, CurrentRoster roster, CellReports reports, NanoClock clock) {
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
                        switch (message) {
                          case Publish _ -> {
                            if (!views.all().isEmpty()) {
                              topic.tell(Topic.publish(update(views.all(), roster.get())));
                            }
                            reports.retain(roster.get().cells());
                          }
                          case PressureUpdate update -> receive(update, reports, clock.nanos());
                        }
                        return Behaviors.same();
                      });
                }));
  }

  private static PressureUpdate update(Map<String, CellView> views, Roster roster) {
    Map<String, CellPressure> pressures = new HashMap<>();
    Map<String, Map<String, Health>> unhealthy = new HashMap<>();
    Map<String, Map<String, Integer>> losses = new HashMap<>();
    views.forEach((cell, view) -> {
      CellPressure pressure = view.pressure();
      // A cell that has just come to its home is not full: it will know its workers soon.
      if (pressure.capacity() > 0 || view.isWorkerHealthKnown()) {
        pressures.put(cell, pressure);
      }
      Map<String, Health> workers = view.workerHealth();
      for (String worker : roster.workerIdsOf(cell)) {
        // It is about to be admitted: others are not to take it for healthy before.
        workers.putIfAbsent(worker, Health.UNKNOWN);
      }
      workers.values().removeIf(health -> health == Health.HEALTHY);
      unhealthy.put(cell, workers);
      losses.put(cell, view.workerLosses());
    });
    return new PressureUpdate(pressures, unhealthy, losses);
  }

  private static void receive(PressureUpdate update, CellReports reports, long nowNanos) {
    update.byCell().forEach((cell, pressure) -> reports.gauge(cell).update(pressure, nowNanos));
    Map<String, Map<String, Health>> unhealthy = update.unhealthy();
    Map<String, Map<String, Integer>> losses = Objects.requireNonNullElse(update.losses(), Map.of());
    for (String cell : unhealthy == null ? update.byCell().keySet() : unhealthy.keySet()) {
      reports.updateHealth(
          cell,
          unhealthy == null ? Map.of() : unhealthy.getOrDefault(cell, Map.of()),
          losses.getOrDefault(cell, Map.of()));
    }
  }
}
