package io.kvasir.scale.live;

import io.kvasir.scale.ScaleGoals;
import java.time.Duration;
import java.util.Map;

/**
 * Settings of the advice for autoscalers. Immutable.
 *
 * @param enabled whether there is any
 * @param interval how often it is worked out
 * @param standard what models are sized for
 * @param byModel those with goals of their own, by base model
 */
public record ScaleSettings(boolean enabled, Duration interval, ScaleGoals standard, Map<String, ScaleGoals> byModel) {
  /** The goals of a model. */
  ScaleGoals of(String model) {
    return byModel.getOrDefault(model, standard);
  }
}
