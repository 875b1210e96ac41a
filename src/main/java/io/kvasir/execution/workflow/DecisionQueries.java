package io.kvasir.execution.workflow;

import io.kvasir.cell.Cells;
import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.Outcome;
import io.kvasir.execution.Call;
import io.kvasir.execution.RetryState;
import io.kvasir.execution.workflow.WorkflowActor.Event;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * Asks the cells for a workflow's workers, on a thread that may wait; the workflow hears of it as {@link
 * Event.DecisionReceived}. What they book for a workflow that was {@link #closed} is given back at once. Called by the
 * workflow's actor.
 */
final class DecisionQueries {
  private final Cells cells;
  private final Call call;
  private final RetryState retries;
  private final Consumer<Supplier<Event>> background;
  private volatile boolean closed;

  /**
   * The inquiries of one request.
   *
   * @param away has something done on a thread that may block
   */
  DecisionQueries(Cells cells, Call call, RetryState trials, Consumer<Supplier<Event>> away) {
    this.cells = cells;
    this.call = call;
    this.retries = trials;
    this.background = away;
  }

  /**
   * Asks a question.
   *
   * @param before the workflow's course until then
   */
  void query(DecisionQuery question, WorkflowState before) {
    DecisionRequest request = question.toRequest(call.decision(), retries.excluded(), before);
    String id = retries.nextRequestId();
    background.accept(() -> {
      long began = System.nanoTime();
      Decision decision = cells.decide(request);
      long nanos = System.nanoTime() - began;
      if (closed && decision instanceof Decision.Planned late) {
        late.close(new Outcome.Cancelled());
      }
      WorkflowState begun =
          decision instanceof Decision.Planned planned ? question.nextState(call, before, planned, id) : null;
      return new Event.DecisionReceived(question, decision, nanos, begun);
    });
  }

  /** Nobody hears any more of what is decided. */
  void close() {
    closed = true;
  }
}
