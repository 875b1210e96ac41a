package io.kvasir.cell;

import java.net.URI;
import java.util.concurrent.CompletionStage;

/** Asks a pod whether it is well. Handed in by the app, so that a cell does no HTTP of its own. */
@FunctionalInterface
public interface HealthProbe {
  /**
   * Completes with whether the pod answered its health route with success within the probe's own
   * deadline. Never completes exceptionally.
   */
  CompletionStage<Boolean> probe(URI pod);
}
