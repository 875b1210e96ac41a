package io.kvasir.execution.workflow;

import io.kvasir.execution.AbortReason;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The steps of a workflow that run: those that count, and those that were stopped and have not ended yet. */
final class StepRuns {
  private final List<StepRun> current = new ArrayList<>(2);
  private final List<StepRun> stopped = new ArrayList<>(2);

  void add(StepRun run) {
    current.add(run);
  }

  boolean isEmpty() {
    return current.isEmpty() && stopped.isEmpty();
  }

  /** Whether a run counts, as opposed to one that was stopped. */
  boolean isCurrent(StepRun run) {
    return current.contains(run);
  }

  /** Whether a run of that step counts. */
  boolean has(String step) {
    return current.stream().anyMatch(run -> run.name().equals(step));
  }

  /** Another run of the same step that counts, a hedge or what it hedges; null when there is none. */
  @Nullable StepRun hedgeOf(StepRun run) {
    return current.stream()
        .filter(other -> other != run && other.name().equals(run.name()))
        .findFirst()
        .orElse(null);
  }

  /** One of a run's requests is over, and with the last of them the run: true then. */
  boolean requestEnded(StepRun run) {
    if (!run.requestEnded()) {
      return false;
    }
    current.remove(run);
    stopped.remove(run);
    return true;
  }

  /** A run does not count any more: what is left of it is stopped. */
  void stop(StepRun run, AbortReason why) {
    if (current.remove(run)) {
      stopped.add(run);
      run.stop(why);
    }
  }

  void stopAll(AbortReason why) {
    for (StepRun run : List.copyOf(current)) {
      stop(run, why);
    }
  }
}
