package io.kvasir.routing.cost;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/**
 * How many tokens answers tend to have, per model: a running mean over about the last 200 answers, fed by
 * outcomes. Before the first answer it is {@value #PRIOR}. Models beyond the first 1,024 share one mean.
 * Thread-safe; reading never waits.
 */
public final class OutputLengths {
  /** Tokens of an answer before any has been seen. */
  public static final double PRIOR = 256;

  private static final int MODELS = 1024;
  private static final int WINDOW = 200;
  private static final String OTHERS = "";
  private static final Mean UNOBSERVED = new Mean(PRIOR, 4);

  private final ConcurrentMap<String, Mean> models = new ConcurrentHashMap<>();

  /** Takes an answer into account. A negative length (the engine did not say) is ignored. */
  public void observe(String model, int outputTokens) {
    if (outputTokens < 0) {
      return;
    }
    String key = models.containsKey(model) || models.size() < MODELS ? model : OTHERS;
    models.compute(key, (_, before) -> (before == null ? UNOBSERVED : before).with(outputTokens));
  }

  /** Has decisions expect this length until answers tell otherwise, as when past decisions are replayed. */
  public void assume(String model, double tokens) {
    models.put(models.containsKey(model) || models.size() < MODELS ? model : OTHERS, new Mean(tokens, 1));
  }

  /** Tokens to expect of the model's next answer. */
  public double expected(String model) {
    Mean mean = models.get(model);
    if (mean == null) {
      mean = models.getOrDefault(OTHERS, UNOBSERVED);
    }
    return mean.tokens;
  }

  /** The mean of {@code weight} answers; the first few stand for what was believed before any. */
  private record Mean(double tokens, int weight) {
    Mean with(int outputTokens) {
      int heavier = Math.min(weight + 1, WINDOW);
      return new Mean(tokens + (outputTokens - tokens) / heavier, heavier);
    }
  }
}
