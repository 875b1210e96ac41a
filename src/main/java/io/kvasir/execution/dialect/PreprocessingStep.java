package io.kvasir.execution.dialect;

import io.kvasir.routing.RoutingPlan;
import java.util.List;
import java.util.Map;

/** A step that processes a request before its prompt is computed, in one message or several. Pure and thread-safe. */
public interface PreprocessingStep {
  /** The steps that come with the router, by the names that plans give them. */
  static Map<String, PreprocessingStep> builtIn() {
    return Map.of(RoutingPlan.ENCODE, new EncodeStep());
  }

  /**
   * The messages for the step's worker; empty when the request needs none.
   *
   * @param id the attempt's {@code X-Request-Id}
   */
  List<EngineRequest> requests(ClientRequest request, String id);

  /** The client's request as the steps after this one are to see it, whether the step is carried out or not. */
  ClientRequest annotated(ClientRequest request);

  /**
   * The request after the step: every message got a 2xx.
   *
   * @param request what {@link #annotated} gave
   * @param answers one for each message, in their order
   */
  ClientRequest apply(ClientRequest request, List<byte[]> answers);
}
