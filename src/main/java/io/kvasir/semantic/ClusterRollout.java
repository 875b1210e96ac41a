package io.kvasir.semantic;

import io.kvasir.time.NanoClock;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * The clusters in service and the settings that are to replace them: requests read the former, and {@link
 * ExampleEmbedder} waits for the latter, embeds their examples and activates them. Thread-safe.
 */
final class ClusterRollout {
  private static final String IN_PROGRESS = "the examples are being embedded";

  private final SemanticMetrics metrics;
  private final NanoClock clock;
  private volatile ActiveClusters active;
  private Job latest;
  private long activated;
  private String pendingReason = IN_PROGRESS;

  /** Settings whose examples are to be embedded, with a number that grows from job to job. */
  record Job(SemanticSettings settings, long number) {}

  /** Settings that are not in service yet, unless they have no clusters. */
  ClusterRollout(SemanticSettings settings, SemanticMetrics metrics, NanoClock clock) {
    this.metrics = metrics;
    this.clock = clock;
    this.active = new ActiveClusters(settings, null, null);
    this.latest = new Job(settings, 1);
    this.activated = settings.isOn() ? 0 : 1;
    metrics.ready(!isPending());
  }

  /** The clusters in service. */
  ActiveClusters active() {
    return active;
  }

  /** Requests these settings. Their examples are embedded again even when the settings are the same. */
  synchronized void configure(SemanticSettings settings) {
    if (settings.isOn() || latest.settings.isOn()) {
      submit(settings, IN_PROGRESS);
    }
  }

  /** Requests the same settings again because the endpoint's model is not the one that embedded the examples. */
  synchronized void reembed(ActiveClusters outdated, String reason) {
    if (active.equals(outdated) && !isPending()) {
      submit(latest.settings, reason);
    }
  }

  private void submit(SemanticSettings settings, String reason) {
    latest = new Job(settings, latest.number + 1);
    pendingReason = reason;
    metrics.ready(false);
    notifyAll();
  }

  /** Why the requested settings are not in service; empty while they are. */
  synchronized Optional<String> pendingReason() {
    return isPending() ? Optional.of(pendingReason) : Optional.empty();
  }

  /** Waits for a job. */
  synchronized Job take() throws InterruptedException {
    while (!isPending()) {
      wait();
    }
    return latest;
  }

  /** Waits for a time, or until there is a newer job. */
  synchronized void pause(Job job, Duration time) throws InterruptedException {
    long end = clock.nanos() + time.toNanos();
    for (long left = time.toNanos(); left > 0 && latest.equals(job); left = end - clock.nanos()) {
      TimeUnit.NANOSECONDS.timedWait(this, left);
    }
  }

  /** Puts a job's clusters into service. */
  synchronized void activate(Job job, ActiveClusters clusters) {
    active = clusters;
    activated = job.number;
    metrics.ready(!isPending());
  }

  /** Records why the job cannot be put into service yet. */
  synchronized void onFailure(String reason) {
    pendingReason = reason;
  }

  private synchronized boolean isPending() {
    return activated < latest.number;
  }
}
