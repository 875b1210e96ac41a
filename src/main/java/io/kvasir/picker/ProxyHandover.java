package io.kvasir.picker;

import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.execution.dispatch.Handover;
import io.kvasir.http.client.PodTransport;

/** The handover of a request to a worker by the gateway's proxy. */
record ProxyHandover(PickedEndpoint placement, ProxyCall call) implements Handover {
  @Override
  public Decision decide(DecisionRequest request) {
    return placement.decide(request);
  }

  @Override
  public PodTransport transport(Decision.Planned decision) {
    return (request, _, _) -> call.of(request);
  }
}
