package io.kvasir.execution.workflow;

import io.kvasir.cell.Decision;
import io.kvasir.cell.Outcome;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Steps of a workflow whose load is booked and that have not begun. Confined to the workflow's actor. */
final class ReservedSteps {
  private final Map<String, Decision.Chosen> byName = new LinkedHashMap<>();

  void add(Decision.Chosen step) {
    byName.put(step.step().name(), step);
  }

  boolean has(String name) {
    return byName.containsKey(name);
  }

  /** Takes a step out, whose load is now somebody else's to give back; null when it is not here. */
  Decision.@Nullable Chosen take(String name) {
    return byName.remove(name);
  }

  /** Gives back what is booked for a step, if it is here. */
  void release(String name) {
    Decision.Chosen step = byName.remove(name);
    if (step != null) {
      step.reservation().close(new Outcome.Cancelled());
    }
  }

  /** Gives everything back. */
  void releaseAll() {
    byName.values().forEach(step -> step.reservation().close(new Outcome.Cancelled()));
    byName.clear();
  }
}
