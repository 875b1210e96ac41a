package io.kvasir.sim.core;

import io.kvasir.sim.json.EngineApiException;
import io.kvasir.sim.text.PlannedAnswer;
import org.jspecify.annotations.Nullable;

/** What a request's answers are to be. */
public interface AnswerPlan {
  /** Text of the model's own. */
  AnswerPlan TEXT = (_, _) -> null;

  /**
   * The answer to a prompt of the request.
   *
   * @param choice its number among the answers to the prompt, from 0 on
   * @return null for text of the model's own
   * @throws EngineApiException when what was required cannot be made
   */
  @Nullable PlannedAnswer answer(int[] prompt, int choice) throws EngineApiException;
}
