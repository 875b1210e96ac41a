package io.kvasir.lab.rules;

import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What was learnt of each worker's times to first token: a linear model of the features of a request and its worker
 * when it was sent, by recursive least squares. Errors count relative to the time, so that the long times of a full
 * fleet do not drown the others, and observations fade by {@value #MEMORY} with each further one. One thread.
 */
final class TtftLearner {
  /** How many numbers describe a request at a worker. */
  static final int FEATURES = 6;

  private static final double MEMORY = 0.998;

  /** Of the covariance at the start, where nothing is known: weights are thousands of milliseconds, or tens of them. */
  private static final double VAGUE = 1e9;

  /** Times below that count as this: an error of some milliseconds is none. */
  private static final double MIN_MS = 50;

  /** Observations of a worker before its model is used. */
  private static final int ENOUGH = 4 * FEATURES;

  private final Map<Integer, Model> models = new HashMap<>();
  private final Map<Integer, Sent> sent = new HashMap<>();
  private @Nullable Sent latest;

  private record Sent(int slot, double[] features) {}

  /** Notes the choice of a worker, described by features that are copied. */
  void chosen(int slot, double[] features) {
    latest = new Sent(slot, features.clone());
  }

  /** Notes which request the latest choice was for. */
  void sent(int request) {
    if (latest != null) {
      sent.put(request, latest);
      latest = null;
    }
  }

  /** Learns from a request's first token. */
  void firstToken(int request, double ttftMs) {
    Sent one = sent.remove(request);
    if (one != null) {
      models.computeIfAbsent(one.slot, _ -> new Model()).learn(one.features, ttftMs);
    }
  }

  /** Whether a worker has been observed often enough. */
  boolean knows(int slot) {
    Model model = models.get(slot);
    return model != null && model.observations >= ENOUGH;
  }

  /** The expected time to first token at a worker, in milliseconds; may be negative. */
  double expectedMs(int slot, double[] features) {
    Model model = models.get(slot);
    return model == null ? 0 : model.expectedMs(features);
  }

  private static final class Model {
    private final double[] weights = new double[FEATURES];
    private final double[][] covariance = new double[FEATURES][FEATURES];
    private final double[] gain = new double[FEATURES];
    private int observations;

    Model() {
      for (int i = 0; i < FEATURES; i++) {
        covariance[i][i] = VAGUE;
      }
    }

    double expectedMs(double[] features) {
      double sum = 0;
      for (int i = 0; i < FEATURES; i++) {
        sum += weights[i] * features[i];
      }
      return sum;
    }

    void learn(double[] features, double ttftMs) {
      double expectedMs = expectedMs(features);
      double unit = 1 / Math.max(MIN_MS, ttftMs);
      double memory = uncertainty() < VAGUE * FEATURES ? MEMORY : 1;
      double variance = memory;
      for (int i = 0; i < FEATURES; i++) {
        gain[i] = 0;
        for (int j = 0; j < FEATURES; j++) {
          gain[i] += covariance[i][j] * features[j] * unit;
        }
        variance += gain[i] * features[i] * unit;
      }
      double error = (ttftMs - expectedMs) * unit;
      for (int i = 0; i < FEATURES; i++) {
        weights[i] += gain[i] * error / variance;
        for (int j = 0; j < FEATURES; j++) {
          covariance[i][j] = (covariance[i][j] - gain[i] * gain[j] / variance) / memory;
        }
      }
      observations++;
    }

    /** Grows without bound where all that is observed is alike, if what was learnt before fades on. */
    private double uncertainty() {
      double sum = 0;
      for (int i = 0; i < FEATURES; i++) {
        sum += covariance[i][i];
      }
      return sum;
    }
  }
}
