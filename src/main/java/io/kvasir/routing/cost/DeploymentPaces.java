package io.kvasir.routing.cost;

import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/**
 * How much longer than the others of its deployment each engine takes: its own fit ({@link PaceFit}) over that of the
 * middle one of all engines. Contention that all of them have is nobody's pace, and an engine without others has none.
 * Paces near 1 are 1, so that engines that are alike share what is learnt.
 *
 * <p>Thread-safe; reading a pace never waits.
 */
final class DeploymentPaces {
  private static final int WINDOW = 128;

  /** Prompts of a worker between two fits once a quarter of the window is filled; half as many before. */
  private static final int REFIT = 8;

  /**
   * What a fit is worth at least, in prompts computed alone, before it counts. Bursts, of which the first prompt waits
   * for those read together with it, and answers whose prompts were all but cached may put it anywhere below.
   */
  private static final double KNOWN_WEIGHT = 8;

  /** Engines of one kind differ by a few hundredths: by what decodes beside prompts. */
  private static final double ALIKE = 0.1;

  /** So many prompts may say something else of an engine that is like the others. */
  private static final double DOUBTFUL_WEIGHT = 2;

  /** The relative change at which a pace is published: decisions cache tables of costs. */
  private static final double PUBLISH_THRESHOLD = 0.03;

  private static final double MAX_PACE = 16;

  /** The most workers with a pace of their own; further ones keep 1. */
  private static final int MAX_WORKERS = 1024;

  private final Map<String, PaceFit> fits = new HashMap<>();

  /** Those of the fits that are worth enough, as they then were. */
  private final Map<String, Fitted> known = new HashMap<>();

  private final ConcurrentMap<String, Double> published = new ConcurrentHashMap<>();

  private record Fitted(double pace, double weight) {
    double over(Fitted middle) {
      double relative = Math.clamp(pace / middle.pace, 1 / MAX_PACE, MAX_PACE);
      return Math.abs(relative - 1) < Math.max(ALIKE, DOUBTFUL_WEIGHT / weight) ? 1 : relative;
    }
  }

  /** A worker's pace, 1 when it is like the others. */
  double of(String worker) {
    return published.getOrDefault(worker, 1.0);
  }

  /**
   * Adds a prompt of a worker's and returns whether any published pace changed.
   *
   * @param costs what is learnt of the deployment
   */
  synchronized boolean observe(String worker, PrefillSample prefill, LearntCost costs) {
    PaceFit fit = fits.get(worker);
    if (fit == null) {
      if (fits.size() == MAX_WORKERS) {
        return false;
      }
      fit = new PaceFit(WINDOW);
      fits.put(worker, fit);
    }
    fit.add(prefill, prefill.queueMs() / of(worker));
    int every = fit.samples() < WINDOW / 4 ? REFIT / 2 : REFIT;
    return fit.samples() % every == 0 && fit(worker, fit, costs) && publish();
  }

  /** Fits all workers anew, after the deployment's costs have changed. */
  synchronized void refit(LearntCost costs) {
    fits.forEach((worker, fit) -> fit(worker, fit, costs));
    publish();
  }

  /** Fits a worker and returns whether that was worth anything; otherwise what was known of it stays. */
  private boolean fit(String worker, PaceFit fit, LearntCost costs) {
    fit.fit(costs);
    boolean worth = fit.weight() >= KNOWN_WEIGHT;
    if (worth) {
      known.put(worker, new Fitted(fit.pace(), fit.weight()));
    }
    return worth;
  }

  private boolean publish() {
    if (known.isEmpty()) {
      return false;
    }
    // Of an even number the faster: so one of two engines is what the other one is measured by.
    Fitted[] sorted = known.values().toArray(Fitted[]::new);
    Arrays.sort(sorted, Comparator.comparingDouble(Fitted::pace));
    Fitted middle = sorted[(sorted.length - 1) / 2];
    boolean changed = false;
    for (Map.Entry<String, Fitted> one : known.entrySet()) {
      double pace = one.getValue().over(middle);
      double before = of(one.getKey());
      if (Math.abs(pace - before) > PUBLISH_THRESHOLD * before) {
        published.put(one.getKey(), pace);
        changed = true;
      }
    }
    return changed;
  }

  /** Forgets a worker that has left. */
  synchronized void forget(String worker) {
    fits.remove(worker);
    known.remove(worker);
    published.remove(worker);
  }
}
