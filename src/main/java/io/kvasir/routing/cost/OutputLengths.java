package io.kvasir.routing.cost;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/**
 * Expected output lengths by model, in tokens: a running mean over about the last 200 answers, {@value #PRIOR} before
 * the first. Models beyond the first 1,024 share one mean. Thread-safe; reading never waits.
 */
public final class OutputLengths {
  /** Expected tokens of an answer before the first. */
  public static final double PRIOR = 256;

  private static final int MAX_MODELS = 1024;
  private static final int WINDOW = 200;
  private static final String OTHERS = "";
  private static final Mean UNOBSERVED = new Mean(PRIOR, 4);

  private final ConcurrentMap<String, Mean> models = new ConcurrentHashMap<>();

  /** Adds an answer's length. A negative one, which the engine has not reported, is ignored. */
  public void observe(String model, int outputTokens) {
    if (outputTokens < 0) {
      return;
    }
    String key = models.containsKey(model) || models.size() < MAX_MODELS ? model : OTHERS;
    models.compute(key, (_, before) -> (before == null ? UNOBSERVED : before).with(outputTokens));
  }

  /** Sets a model's expected length before any further answers, for the replay of past decisions. */
  public void assume(String model, double tokens) {
    models.put(models.containsKey(model) || models.size() < MAX_MODELS ? model : OTHERS, new Mean(tokens, 1));
  }

  /** Expected tokens of the model's next answer. */
  public double expected(String model) {
    Mean mean = models.get(model);
    if (mean == null) {
      mean = models.getOrDefault(OTHERS, UNOBSERVED);
    }
    return mean.tokens;
  }

  /** The mean of {@code weight} answers, the prior's included. */
  private record Mean(double tokens, int weight) {
    Mean with(int outputTokens) {
      int newWeight = Math.min(weight + 1, WINDOW);
      return new Mean(tokens + (outputTokens - tokens) / newWeight, newWeight);
    }
  }
}
