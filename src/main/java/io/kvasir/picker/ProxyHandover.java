package io.kvasir.picker;

import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.execution.dispatch.Handover;
import io.kvasir.http.Cancellation;
import io.kvasir.http.client.PodTransport;

/** The handover of a request to a worker by the gateway's proxy. */
record ProxyHandover(PickedEndpoint placement, ProxyCall call) implements Handover {
  @Override
  public Decision decide(DecisionRequest request, Cancellation client) {
    return placement.decide(request, client);
  }

  @Override
  public PodTransport transport(Decision.Planned decision) {
    return (request, _, _) -> call.of(request);
  }
}
