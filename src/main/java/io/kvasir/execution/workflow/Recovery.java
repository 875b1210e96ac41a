package io.kvasir.execution.workflow;

import io.kvasir.execution.Attempt.AttemptResult;
import io.kvasir.routing.FailurePolicy;
import io.kvasir.routing.RoutingPlan;
import java.time.Duration;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** What a step's failure leads to. */
sealed interface Recovery {
  /**
   * Everything anew, without the worker that failed.
   *
   * @param orDecodeOnly whether, when the fleet has no such plan any more, a decode worker is to do it alone
   */
  record Replan(Duration pause, boolean orDecodeOnly) implements Recovery {}

  /** The step anew; the workers of the steps after it have not been asked yet and keep their place. */
  record RetryStep(Duration pause) implements Recovery {}

  /** On without the step. */
  record SkipStep() implements Recovery {}

  /** The client is told. */
  record FailRequest() implements Recovery {}

  /** What is known of the step that failed. */
  enum FailedStep {
    /** Its answer would have been the client's. */
    LAST,
    /** Its answer would have been read here, and nothing after it has begun. */
    BEFORE,
    /** It ran beside the last step, which has been stopped. */
    CONCURRENT
  }

  /**
   * What the step's policy makes of it.
   *
   * @param dispensable whether the plan can be carried out without the step at all
   * @param retry takes a retry and says how long to wait before it; null when there is none to be
   */
  static Recovery of(
      RoutingPlan.Step step,
      FailedStep kind,
      boolean dispensable,
      AttemptResult.Failed failure,
      Function<AttemptResult.Failed, @Nullable Duration> retry) {
    FailurePolicy policy = step.onFailure();
    boolean without = kind != FailedStep.LAST && dispensable && policy.canSkipStep();
    Duration pause = switch (policy) {
      case NEXT_CANDIDATE, NEXT_CANDIDATE_THEN_WITHOUT -> retry.apply(failure);
      case WITHOUT, FAIL -> null;
    };
    if (pause == null) {
      return without ? new SkipStep() : new FailRequest();
    }
    return kind == FailedStep.BEFORE ? new RetryStep(pause) : new Replan(pause, without);
  }
}
