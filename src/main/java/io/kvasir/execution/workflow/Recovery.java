package io.kvasir.execution.workflow;

import io.kvasir.routing.FailurePolicy;
import java.time.Duration;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** What a step's failure leads to. */
sealed interface Recovery {
  /**
   * Every step is decided again, without the worker that failed.
   *
   * @param orDecodeOnly whether, when the fleet has no such plan any more, a decode worker is to serve alone
   */
  record Replan(Duration pause, boolean orDecodeOnly) implements Recovery {}

  /** The step is decided again; the steps after it have not started and keep their workers. */
  record RetryStep(Duration pause) implements Recovery {}

  /** The plan goes on without the step. */
  record SkipStep() implements Recovery {}

  /** The client gets the failure. */
  record FailRequest() implements Recovery {}

  /** The failed step's place in its plan. */
  enum FailedStep {
    /** Its response would have been the client's. */
    LAST,
    /** The router would have read its response, and nothing after it has started. */
    BEFORE,
    /** It ran beside the last step, which has been stopped. */
    CONCURRENT
  }

  /**
   * The recovery by a step's failure policy.
   *
   * @param optional whether the plan can be carried out without the step at all
   * @param retry takes a retry: the pause before it, null when there must be none
   */
  static Recovery of(
      FailurePolicy policy, FailedStep step, boolean optional, Supplier<@Nullable Duration> retry) {
    boolean canSkip = step != FailedStep.LAST && optional && policy.canSkipStep();
    Duration pause = switch (policy) {
      case NEXT_CANDIDATE, NEXT_CANDIDATE_THEN_WITHOUT -> retry.get();
      case WITHOUT, FAIL -> null;
    };
    if (pause == null) {
      return canSkip ? new SkipStep() : new FailRequest();
    }
    return step == FailedStep.BEFORE ? new RetryStep(pause) : new Replan(pause, canSkip);
  }
}
