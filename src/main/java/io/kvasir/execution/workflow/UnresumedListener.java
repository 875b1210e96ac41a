package io.kvasir.execution.workflow;

import io.kvasir.cell.Outcome;
import io.kvasir.execution.CallListener;
import io.kvasir.execution.ExecutionMetrics;
import io.kvasir.execution.Report;
import io.kvasir.routing.Worker;

/**
 * Counts a stream that was cut, and that its profile would have resumed, were the request of another kind.
 *
 * @param reason it is not resumed
 */
record UnresumedListener(CallListener listener, String reason, ExecutionMetrics metrics) implements CallListener {
  @Override
  public void identified(String answerId, Worker worker) {
    listener.identified(answerId, worker);
  }

  @Override
  public void firstToken() {
    listener.firstToken();
  }

  @Override
  public void ended(Report report) {
    if (report.outcome() instanceof Outcome.Failed) {
      metrics.resumeRefused(reason);
    }
    listener.ended(report);
  }
}
