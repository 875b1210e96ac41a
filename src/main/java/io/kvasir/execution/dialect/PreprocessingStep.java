package io.kvasir.execution.dialect;

import io.kvasir.routing.RoutingPlan;
import java.util.List;
import java.util.Map;

/** What a worker does to a request before its prompt is read, in one message or several. Pure and thread-safe. */
public interface PreprocessingStep {
  /** Those that come with the router, by the names that plans give their steps. */
  static Map<String, PreprocessingStep> builtIn() {
    return Map.of(RoutingPlan.ENCODE, new EncodeStep());
  }

  /**
   * What the worker is sent; empty when this request needs nothing of it.
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
