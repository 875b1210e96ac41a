package io.kvasir.cell;

import java.net.URI;
import java.util.concurrent.CompletionStage;

/** Asks a pod whether it is well. Handed in by the app, so that a cell does no HTTP of its own. */
@FunctionalInterface
public interface HealthProbe {
  /**
   * Completes with whether the pod answered its health route with success within the probe's own
   * deadline; exceptionally when there was no connection to ask on, because it was refused or cut.
   */
  CompletionStage<Boolean> probe(URI pod);
}
