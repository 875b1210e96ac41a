package io.kvasir.routing.cost;

import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/**
 * How much longer than the others of its deployment each engine takes. An engine's pace is the median of its times to
 * first token, in multiples of what the deployment's costs predict, over the middle one of all engines' such medians:
 * contention that all of them have is nobody's pace, and an engine without others has none. Paces near 1 are 1, so that
 * engines that are alike share what is learnt.
 *
 * <p>Thread-safe; reading a pace never waits.
 */
final class DeploymentPaces {
  private static final int WINDOW = 128;

  /** The fewest samples of a worker before it has a pace of its own. */
  private static final int KNOWN_SAMPLES = 8;

  /** Samples of a worker between two looks. */
  private static final int REFIT = 4;

  /** Engines that are so near to the others count as like them: seeds and queues differ by as much. */
  private static final double ALIKE = 0.15;

  /** The relative change at which a pace is published: decisions cache tables of costs. */
  private static final double PUBLISH_THRESHOLD = 0.05;

  private static final double MAX_PACE = 16;

  /** The most workers with a pace of their own; further ones keep 1. */
  private static final int MAX_WORKERS = 1024;

  private final Map<String, PaceFit> fits = new HashMap<>();

  /** The medians of those that have enough samples. */
  private final Map<String, Double> medians = new HashMap<>();

  private final ConcurrentMap<String, Double> published = new ConcurrentHashMap<>();

  /** A worker's pace, 1 when it is like the others. */
  double of(String worker) {
    return published.getOrDefault(worker, 1.0);
  }

  /**
   * Adds a prompt of a worker's and returns whether its published pace changed.
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
    if (fit.samples() < KNOWN_SAMPLES || fit.samples() % REFIT != 0) {
      return false;
    }
    double median = fit.pace(costs);
    if (fit.weight() < KNOWN_SAMPLES) {
      return false;
    }
    medians.put(worker, median);
    return publish(worker, middle());
  }

  /** Looks again at all workers, after the deployment's costs have changed, and returns whether a pace changed. */
  synchronized boolean review(LearntCost costs) {
    medians.replaceAll((worker, _) -> Objects.requireNonNull(fits.get(worker)).pace(costs));
    boolean changed = false;
    double middle = medians.isEmpty() ? 1 : middle();
    for (String worker : medians.keySet()) {
      changed |= publish(worker, middle);
    }
    return changed;
  }

  private boolean publish(String worker, double middle) {
    double relative = Math.clamp(Objects.requireNonNull(medians.get(worker)) / middle, 1 / MAX_PACE, MAX_PACE);
    double pace = Math.abs(relative - 1) < ALIKE ? 1 : relative;
    double before = of(worker);
    if (Math.abs(pace - before) <= PUBLISH_THRESHOLD * before) {
      return false;
    }
    published.put(worker, pace);
    return true;
  }

  /** The middle of the workers' medians; of an even number the geometric mean of the two in the middle. */
  private double middle() {
    double[] sorted = medians.values().stream().mapToDouble(Double::doubleValue).sorted().toArray();
    return sorted[(sorted.length - 1) / 2];
  }

  /** Forgets a worker that has left. */
  synchronized void forget(String worker) {
    fits.remove(worker);
    medians.remove(worker);
    published.remove(worker);
  }
}
