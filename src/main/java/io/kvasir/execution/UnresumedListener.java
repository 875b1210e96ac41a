package io.kvasir.execution;

import io.kvasir.cell.Outcome;
import io.kvasir.routing.Worker;

/**
 * Counts a stream that was cut, and that its profile would have resumed, were the request of another kind.
 *
 * @param why it is not resumed
 */
record UnresumedListener(CallListener listener, String why, ExecutionMetrics metrics) implements CallListener {
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
      metrics.resumeRefused(why);
    }
    listener.ended(report);
  }
}
