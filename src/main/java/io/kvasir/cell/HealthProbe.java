package io.kvasir.cell;

import io.kvasir.routing.Worker;
import java.net.URI;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** Probes the health of a pod. Implemented by the app, so that a cell does no HTTP of its own. */
@FunctionalInterface
public interface HealthProbe {
  /**
   * Completes with whether the pod answered its health route with success within the probe's own
   * deadline; exceptionally when there was no connection to ask on, because it was refused or cut. Among the causes of
   * a refusal is a {@link java.net.ConnectException}: no process listens there.
   */
  CompletionStage<Boolean> probe(URI pod);

  /**
   * Reads the engine's own figures.
   *
   * @return the load that each rank reports, empty when the pod reports none; completes exceptionally when it did not
   *     answer
   */
  default CompletionStage<Map<Integer, EngineReport>> reports(URI pod) {
    return CompletableFuture.completedStage(Map.of());
  }

  /**
   * Has a worker generate a token, which shows that its engine moves, and waits for minutes.
   *
   * @return whether it did, or answered something else; completes exceptionally when it was not reached, or not in time
   */
  default CompletionStage<Boolean> canary(Worker worker) {
    return CompletableFuture.completedStage(false);
  }
}
