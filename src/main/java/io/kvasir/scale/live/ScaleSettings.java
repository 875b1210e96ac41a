package io.kvasir.scale.live;

import io.kvasir.scale.ScaleGoals;
import io.kvasir.scale.ScaleTarget;
import java.time.Duration;
import java.util.Map;
import java.util.Set;

/**
 * Settings of the advice for autoscalers. Immutable.
 *
 * @param enabled whether there is any
 * @param interval how often it is worked out
 * @param standard what models are sized for
 * @param byModel those with goals of their own, by base model
 * @param fromZero targets that there are without a worker, too
 */
public record ScaleSettings(
    boolean enabled, Duration interval, ScaleGoals standard, Map<String, ScaleGoals> byModel,
    Set<ScaleTarget> fromZero) {
  /** Copies the set. */
  public ScaleSettings {
    fromZero = Set.copyOf(fromZero);
  }

  /** The goals of a model. */
  ScaleGoals of(String model) {
    return byModel.getOrDefault(model, standard);
  }
}
