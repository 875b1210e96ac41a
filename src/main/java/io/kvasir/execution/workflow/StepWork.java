package io.kvasir.execution.workflow;

import io.kvasir.cell.Decision;
import io.kvasir.execution.Report;
import io.kvasir.execution.dialect.EngineRequest;
import io.kvasir.execution.dialect.PrefillResult;
import java.util.List;

/** The work of a step that starts: {@link StepTasks} makes its requests of it. */
sealed interface StepWork {
  /** The last worker does everything that is left. */
  record Whole() implements StepWork {}

  /** The worker computes the prompt for another. */
  record Prefill() implements StepWork {}

  /**
   * The last worker generates after, or beside, prefill.
   *
   * @param prefill the prefill step
   * @param blocks the KV blocks that prefill has kept
   * @param prefillReport how prefill went, as far as it is known
   */
  record Decode(Decision.Chosen prefill, PrefillResult.KvBlocks blocks, Report prefillReport) implements StepWork {}

  /** The worker processes the request before its prompt is computed, in one request or several. */
  record Preprocessing(List<EngineRequest> messages) implements StepWork {}

  /** Requests that the step's worker gets, at least one. */
  default int requests() {
    return switch (this) {
      case Whole _, Prefill _, Decode _ -> 1;
      case Preprocessing(List<EngineRequest> messages) -> messages.size();
    };
  }
}
