package io.kvasir.execution.dispatch;

import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.http.client.PodTransport;

/** Hands one request over to a worker in the dispatcher's place, for a proxy that sends it itself. */
public interface Handover {
  /** Decides on the request. A plan of several steps becomes one of its last step, whose worker sees to the others. */
  Decision decide(DecisionRequest request);

  /** The request's way to the worker of a decision of {@link #decide}. Once. */
  PodTransport transport(Decision.Planned decision);
}
