package io.kvasir.cell;

import io.kvasir.routing.Retention;
import java.net.URI;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** Tells engines what need not be retained any more. Implemented by the app, so that a cell does no HTTP of its own. */
@FunctionalInterface
public interface RetentionRelease {
  /** Where no engine retains anything. */
  RetentionRelease NONE = (_, _, _) -> CompletableFuture.completedStage(false);

  /**
   * Has an engine treat what a program has used like all else again. Does not wait.
   *
   * @param retention how the engine of the pod was told to retain it
   * @param program its name, as its requests had it
   * @return completes with whether the engine agreed; exceptionally when it was not reached
   */
  CompletionStage<Boolean> release(URI pod, Retention retention, String program);
}
