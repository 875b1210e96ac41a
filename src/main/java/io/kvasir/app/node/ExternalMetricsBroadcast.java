package io.kvasir.app.node;

import io.kvasir.routing.ExternalMetrics;
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
 * Has every node hear what is said of workers, since any of them may be the home of a worker's cell. A node that joins
 * later hears what is said from then on. Thread-safe.
 */
final class ExternalMetricsBroadcast {
  private static final Logger LOG = LoggerFactory.getLogger(ExternalMetricsBroadcast.class);
  private static final String NAME = "kvasir-figures";

  /** Crosses between nodes. */
  sealed interface Message {}

  /** Figures of one name, by worker. */
  record Update(String name, Map<String, Double> byWorker) implements Message {}

  private final ActorRef<Topic.Command<Update>> topic;

  /** Listens, and lets others hear. Its actors end with the system. */
  ExternalMetricsBroadcast(ActorSystem<?> system, ExternalMetrics figures) {
    this.topic = system.systemActorOf(Topic.create(Update.class, NAME), NAME + "-topic", Props.empty());
    ActorRef<Update> ear = system.systemActorOf(listening(figures), NAME, Props.empty());
    topic.tell(Topic.subscribe(ear));
  }

  void publish(String name, Map<String, Double> byWorker) {
    topic.tell(Topic.publish(new Update(name, byWorker)));
  }

  private static Behavior<Update> listening(ExternalMetrics figures) {
    return Behaviors.receiveMessage(
        said -> {
          long now = System.nanoTime();
          said.byWorker().forEach((worker, value) -> {
            if (!figures.report(said.name(), worker, value, now)) {
              LOG.warn("there are too many figures: {} of {} is not taken", said.name(), worker);
            }
          });
          return Behaviors.same();
        });
  }
}
