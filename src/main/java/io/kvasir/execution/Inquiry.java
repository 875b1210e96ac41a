package io.kvasir.execution;

import io.kvasir.cell.Cells;
import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.Outcome;
import io.kvasir.execution.WorkflowActor.Event;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * Asks the cells for a workflow's workers, on a thread that may wait; the workflow hears of it as {@link
 * Event.Decided}. What they book for a workflow that was {@link #cut} is given back at once. Called by the
 * workflow's actor.
 */
final class Inquiry {
  private final Cells cells;
  private final Call call;
  private final Trials trials;
  private final Consumer<Supplier<Event>> away;
  private volatile boolean cut;

  /**
   * The inquiries of one request.
   *
   * @param away has something done on a thread that may block
   */
  Inquiry(Cells cells, Call call, Trials trials, Consumer<Supplier<Event>> away) {
    this.cells = cells;
    this.call = call;
    this.trials = trials;
    this.away = away;
  }

  /**
   * Asks a question.
   *
   * @param before the workflow's course until then
   */
  void ask(Question question, Course before) {
    DecisionRequest request = question.of(call.decision(), trials.excluded(), before);
    String id = trials.upcomingId();
    away.accept(() -> {
      long began = System.nanoTime();
      Decision decision = cells.decide(request);
      long nanos = System.nanoTime() - began;
      if (cut && decision instanceof Decision.Planned late) {
        late.close(new Outcome.Cancelled());
      }
      Course begun =
          decision instanceof Decision.Planned planned ? question.begun(call, before, planned, id) : null;
      return new Event.Decided(question, decision, nanos, begun);
    });
  }

  /** Nobody hears any more of what is decided. */
  void cut() {
    cut = true;
  }
}
