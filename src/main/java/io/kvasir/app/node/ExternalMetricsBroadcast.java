package io.kvasir.app.node;

import io.kvasir.routing.ExternalMetrics;
import io.kvasir.telemetry.LineRate;
import io.kvasir.time.NanoClock;
import java.util.Map;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.Props;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.actor.typed.pubsub.Topic;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Publishes external metrics to every node, since any of them may be the home of a worker's cell. A node that joins
 * later gets what is published from then on. Thread-safe.
 */
final class ExternalMetricsBroadcast {
  private static final Logger LOG = LoggerFactory.getLogger(ExternalMetricsBroadcast.class);
  private static final String NAME = "kvasir-figures";

  /** Crosses between nodes. */
  sealed interface Message {}

  /** Values of one metric, by worker. */
  record Update(String name, Map<String, Double> byWorker) implements Message {}

  private final ActorRef<Topic.Command<Update>> topic;

  /** One update may have thousands of values. */
  private final LineRate lines = new LineRate(1, NanoClock.SYSTEM);

  /** Subscribes this node. Its actors end with the system. */
  ExternalMetricsBroadcast(ActorSystem<?> system, ExternalMetrics metrics) {
    this.topic = system.systemActorOf(Topic.create(Update.class, NAME), NAME + "-topic", Props.empty());
    ActorRef<Update> subscriber = system.systemActorOf(listening(metrics), NAME, Props.empty());
    topic.tell(Topic.subscribe(subscriber));
  }

  void publish(String name, Map<String, Double> byWorker) {
    topic.tell(Topic.publish(new Update(name, byWorker)));
  }

  private Behavior<Update> listening(ExternalMetrics metrics) {
    return Behaviors.receiveMessage(
        update -> {
          long now = System.nanoTime();
          update.byWorker().forEach((worker, value) -> {
            long leftOut = metrics.report(update.name(), worker, value, now) ? -1 : lines.take();
            if (leftOut >= 0) {
              LOG.warn(
                  "there are too many external metrics: {} of {} is not taken{}",
                  update.name(), worker, LineRate.note(leftOut));
            }
          });
          return Behaviors.same();
        });
  }
}
