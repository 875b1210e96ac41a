package io.kvasir.execution;

import io.kvasir.cell.Cells;
import io.kvasir.execution.dialect.Preparation;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.Props;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.jspecify.annotations.Nullable;

/**
 * The workflow actors of a node: one for each request that takes several steps or a retry. Bounded, and stopped
 * with the node. Thread-safe.
 */
final class Workflows implements AutoCloseable {
  private static final AtomicInteger NAMES = new AtomicInteger();

  private final Services services;
  private final AtomicInteger running = new AtomicInteger();
  private final ActorRef<Told> keeper;

  /**
   * What workflows are made of.
   *
   * @param cells whom to ask for workers
   * @param means what requests are sent with
   * @param preparations how the steps before the prompt is read are done, by their names
   * @param bootstraps what prefill engines have told
   */
  record Services(Cells cells, Means means, Map<String, Preparation> preparations, Bootstraps bootstraps) {}

  /** What the keeper of the actors is told. */
  sealed interface Told permits Order, Closing {}

  /** The node stops. */
  enum Closing implements Told { CLOSE }

  /**
   * A request to be carried out.
   *
   * @param call the request
   * @param departure whether the client is still there
   * @param listener hears of the answer that streams
   * @param trials what the request has been through; the workflow's from now on
   * @param course what to begin with, null when a plan has failed and the next is to be decided
   * @param pause how long to wait before that
   * @param result what becomes of it
   */
  record Order(
      Call call,
      Departure departure,
      CallListener listener,
      Trials trials,
      @Nullable Course course,
      Duration pause,
      CompletableFuture<Result> result)
      implements Told {}

  Workflows(ActorSystem<?> system, Services services) {
    this.services = services;
    this.keeper = system.systemActorOf(keeper(), "workflows-" + NAMES.incrementAndGet(), Props.empty());
  }

  /** Begins a workflow; false when there are too many, and the order stays the caller's. */
  boolean begin(Order order) {
    if (running.incrementAndGet() > services.means().settings().workflows()) {
      running.decrementAndGet();
      services.means().metrics().retryRefused("workflows");
      return false;
    }
    services.means().metrics().workflowBegun();
    keeper.tell(order);
    return true;
  }

  /** Ends every workflow: their legs are stopped and what was booked is given back. */
  @Override
  public void close() {
    keeper.tell(Closing.CLOSE);
  }

  private Behavior<Told> keeper() {
    return Behaviors.receive((context, told) -> switch (told) {
      case Order order -> {
        context.spawnAnonymous(WorkflowActor.create(services, order, this::ended));
        yield Behaviors.same();
      }
      case Closing.CLOSE -> Behaviors.stopped();
    });
  }

  private void ended() {
    running.decrementAndGet();
    services.means().metrics().workflowEnded();
  }
}
