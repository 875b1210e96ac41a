package io.kvasir.semantic;

import io.kvasir.routing.SemanticCluster;
import io.kvasir.routing.TextClusters;
import io.kvasir.semantic.EmbeddingException.Reason;
import io.kvasir.telemetry.Metrics;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The semantic clusters of a node: the room's front. Before {@link #start}, and until the clusters' examples have been
 * embedded, no request's cluster is known. When other settings are wanted, those before stay in service until the
 * others' examples have been embedded. Thread-safe. Owns the connections to the endpoint and the thread that embeds
 * examples.
 */
public final class SemanticClusters implements TextClusters, AutoCloseable {
  private static final String IN_PROGRESS = "the examples are being embedded";

  private final SemanticMetrics metrics = new SemanticMetrics();
  private volatile ActiveClusters active;
  private volatile @Nullable ExampleEmbedder exampleEmbedder;
  private EmbeddingJob job;
  private long done;
  private String failureReason = IN_PROGRESS;

  /**
   * What requests are compared with.
   *
   * @param embedder null before there are centroids
   * @param centroids null before there are any
   */
  record ActiveClusters(SemanticSettings settings, @Nullable Embedder embedder, @Nullable Centroids centroids) {}

  /** Settings whose examples are to be embedded, and the how manieth time that is asked for. */
  record EmbeddingJob(SemanticSettings settings, long number) {}

  /** Clusters that are not in service yet. */
  public SemanticClusters(SemanticSettings settings) {
    this.active = new ActiveClusters(settings, null, null);
    this.job = new EmbeddingJob(settings, 1);
    this.done = settings.isOn() ? 0 : 1;
  }

  /** Begins to embed the examples, until that has succeeded, and shows the metrics. Called once. */
  public void start(Metrics shown) {
    metrics.register(shown);
    metrics.ready(!isBehind());
    exampleEmbedder = new ExampleEmbedder(this, metrics);
  }

  /** These settings are wanted from now on. Examples are embedded anew even if they are the same. */
  public synchronized void configure(SemanticSettings settings) {
    if (settings.isOn() || job.settings.isOn()) {
      order(settings, IN_PROGRESS);
    }
  }

  @Override
  public CompletionStage<SemanticCluster> of(String text) {
    ActiveClusters now = active;
    if (!now.settings.isOn()) {
      return CompletableFuture.completedStage(SemanticCluster.NONE);
    }
    Centroids centroids = now.centroids;
    if (now.embedder == null || centroids == null) {
      metrics.recordFailure(Reason.STARTING);
      return CompletableFuture.failedStage(new EmbeddingException(Reason.STARTING, "there are no centroids yet"));
    }
    return now.embedder
        .embed(text)
        .orTimeout(now.settings.embeddings().budget().toNanos(), TimeUnit.NANOSECONDS)
        .handle((vector, failure) -> {
          try {
            return cluster(now, centroids, vector, failure);
          } catch (EmbeddingException none) {
            metrics.recordFailure(none.reason());
            throw new CompletionException(none);
          }
        });
  }

  private SemanticCluster cluster(
      ActiveClusters now, Centroids centroids, float @Nullable [] vector, @Nullable Throwable failure)
      throws EmbeddingException {
    if (vector == null) {
      throw EmbeddingException.of(failure == null ? new IllegalStateException("there is no vector") : failure);
    }
    try {
      Centroids.NearestCluster match = centroids.match(vector);
      metrics.recordMatch(match);
      return match.cluster();
    } catch (EmbeddingException anotherModel) {
      outdated(now, String.valueOf(anotherModel.getMessage()));
      throw anotherModel;
    }
  }

  @Override
  public Duration budget() {
    return active.settings.embeddings().budget();
  }

  @Override
  public void onUnserved(SemanticCluster cluster) {
    metrics.unserved(cluster);
  }

  /** What is served with less than is configured, for readiness. */
  public List<String> degraded() {
    ActiveClusters now = active;
    List<String> degraded = new ArrayList<>();
    synchronized (this) {
      if (isBehind()) {
        degraded.add(
            (now.centroids == null
                    ? "the semantic clusters of requests are not known yet: "
                    : "requests go by the semantic clusters from before: ")
                + failureReason);
      }
    }
    if (now.embedder != null) {
      now.embedder
          .openReason()
          .ifPresent(why -> degraded.add("the semantic clusters of requests are not known: " + why));
    }
    return degraded;
  }

  @Override
  public void close() {
    ExampleEmbedder running = exampleEmbedder;
    if (running != null) {
      running.close();
    }
  }

  // For the upkeep.

  /** Waits until there are examples to be embedded. */
  synchronized EmbeddingJob await() throws InterruptedException {
    while (!isBehind()) {
      wait();
    }
    return job;
  }

  /** Waits, but not when something else has been ordered than that. */
  synchronized void pause(EmbeddingJob since, Duration pause) throws InterruptedException {
    long end = System.nanoTime() + pause.toNanos();
    for (long left = pause.toNanos(); left > 0 && job.equals(since); left = end - System.nanoTime()) {
      TimeUnit.NANOSECONDS.timedWait(this, left);
    }
  }

  /** From now on requests are compared with this. */
  synchronized void activate(EmbeddingJob fulfilled, ActiveClusters next) {
    active = next;
    done = fulfilled.number;
    metrics.ready(!isBehind());
  }

  /** What is ordered cannot be in service yet. */
  synchronized void onFailure(String why) {
    failureReason = why;
  }

  private synchronized boolean isBehind() {
    return done < job.number;
  }

  /** The endpoint's model is not the one that embedded the examples. */
  private synchronized void outdated(ActiveClusters found, String why) {
    if (active.equals(found) && !isBehind()) {
      order(job.settings, why);
    }
  }

  private synchronized void order(SemanticSettings settings, String why) {
    job = new EmbeddingJob(settings, job.number + 1);
    failureReason = why;
    metrics.ready(false);
    notifyAll();
  }
}
