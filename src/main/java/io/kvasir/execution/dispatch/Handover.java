package io.kvasir.execution.dispatch;

import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.http.Cancellation;
import io.kvasir.http.client.PodTransport;

/** Hands one request over to a worker in the dispatcher's place, for a proxy that sends it itself. */
public interface Handover {
  /**
   * Decides on the request when it is its turn. A plan of several steps becomes one of its last step, whose worker sees
   * to the others.
   *
   * @param client ends the wait when it is cancelled
   */
  Decision decide(DecisionRequest request, Cancellation client);

  /** The request's way to the worker of a decision of {@link #decide}. Once. */
  PodTransport transport(Decision.Planned decision);
}
