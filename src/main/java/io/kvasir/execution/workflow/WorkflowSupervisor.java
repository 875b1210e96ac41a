package io.kvasir.execution.workflow;

import io.kvasir.cell.Cells;
import io.kvasir.execution.Call;
import io.kvasir.execution.CallListener;
import io.kvasir.execution.ExecutionServices;
import io.kvasir.execution.Result;
import io.kvasir.execution.RetryState;
import io.kvasir.execution.dialect.PreprocessingStep;
import io.kvasir.http.Cancellation;
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
final class WorkflowSupervisor implements AutoCloseable {
  private static final AtomicInteger NAMES = new AtomicInteger();

  private final Services services;
  private final AtomicInteger running = new AtomicInteger();
  private final ActorRef<Command> keeper;

  /**
   * What workflows are made of.
   *
   * @param cells whom to ask for workers
   * @param execution what requests are sent with
   * @param preprocessing how the steps before the prompt is read are done, by their names
   * @param bootstraps what prefill engines have told
   */
  record Services(Cells cells, ExecutionServices execution, Map<String, PreprocessingStep> preprocessing,
      BootstrapCache bootstraps) {}

  /** What the keeper of the actors is told. */
  sealed interface Command permits WorkflowRequest, Shutdown {}

  /** The node stops. */
  enum Shutdown implements Command { CLOSE }

  /**
   * A request to be carried out.
   *
   * @param call the request
   * @param cancellation cancelled when the client disconnects
   * @param listener hears of the answer that streams
   * @param retries what the request has been through; the workflow's from now on
   * @param state what to begin with, null when a plan has failed and the next is to be decided
   * @param pause how long to wait before that
   * @param result what becomes of it
   */
  record WorkflowRequest(
      Call call,
      Cancellation cancellation,
      CallListener listener,
      RetryState retries,
      @Nullable WorkflowState state,
      Duration pause,
      CompletableFuture<Result> result)
      implements Command {}

  WorkflowSupervisor(ActorSystem<?> system, Services services) {
    this.services = services;
    this.keeper = system.systemActorOf(keeper(), "workflows-" + NAMES.incrementAndGet(), Props.empty());
  }

  /** Begins a workflow; false when there are too many, and the order stays the caller's. */
  boolean start(WorkflowRequest order) {
    if (running.incrementAndGet() > services.execution().settings().workflows()) {
      running.decrementAndGet();
      services.execution().metrics().retryRefused("workflows");
      return false;
    }
    services.execution().metrics().workflowStarted();
    keeper.tell(order);
    return true;
  }

  /** Ends every workflow: their legs are stopped and what was booked is given back. */
  @Override
  public void close() {
    keeper.tell(Shutdown.CLOSE);
  }

  private Behavior<Command> keeper() {
    return Behaviors.receive((context, told) -> switch (told) {
      case WorkflowRequest order -> {
        context.spawnAnonymous(WorkflowActor.create(services, order, this::ended));
        yield Behaviors.same();
      }
      case Shutdown.CLOSE -> Behaviors.stopped();
    });
  }

  private void ended() {
    running.decrementAndGet();
    services.execution().metrics().workflowEnded();
  }
}
