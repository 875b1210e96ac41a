package io.kvasir.semantic;

import io.kvasir.routing.SemanticCluster;
import io.kvasir.routing.TextClusters;
import io.kvasir.semantic.EmbeddingException.Why;
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
  private static final String UNDER_WAY = "the examples are being embedded";

  private final SemanticMetrics metrics = new SemanticMetrics();
  private volatile Service service;
  private volatile @Nullable Upkeep upkeep;
  private Order order;
  private long done;
  private String hindrance = UNDER_WAY;

  /**
   * What requests are compared with.
   *
   * @param embedder null before there are centroids
   * @param centroids null before there are any
   */
  record Service(SemanticSettings settings, @Nullable Embedder embedder, @Nullable Centroids centroids) {}

  /** Settings whose examples are to be embedded, and the how manieth time that is asked for. */
  record Order(SemanticSettings settings, long number) {}

  /** Clusters that are not in service yet. */
  public SemanticClusters(SemanticSettings settings) {
    this.service = new Service(settings, null, null);
    this.order = new Order(settings, 1);
    this.done = settings.isOn() ? 0 : 1;
  }

  /** Begins to embed the examples, until that has succeeded, and shows the metrics. Called once. */
  public void start(Metrics shown) {
    metrics.register(shown);
    metrics.ready(!isBehind());
    upkeep = new Upkeep(this, metrics);
  }

  /** These settings are wanted from now on. Examples are embedded anew even if they are the same. */
  public synchronized void configure(SemanticSettings settings) {
    if (settings.isOn() || order.settings.isOn()) {
      order(settings, UNDER_WAY);
    }
  }

  @Override
  public CompletionStage<SemanticCluster> of(String text) {
    Service now = service;
    if (!now.settings.isOn()) {
      return CompletableFuture.completedStage(SemanticCluster.NONE);
    }
    Centroids centroids = now.centroids;
    if (now.embedder == null || centroids == null) {
      metrics.failed(Why.STARTING);
      return CompletableFuture.failedStage(new EmbeddingException(Why.STARTING, "there are no centroids yet"));
    }
    return now.embedder
        .of(text)
        .orTimeout(now.settings.embeddings().budget().toNanos(), TimeUnit.NANOSECONDS)
        .handle((vector, failure) -> {
          try {
            return cluster(now, centroids, vector, failure);
          } catch (EmbeddingException none) {
            metrics.failed(none.why());
            throw new CompletionException(none);
          }
        });
  }

  private SemanticCluster cluster(
      Service now, Centroids centroids, float @Nullable [] vector, @Nullable Throwable failure)
      throws EmbeddingException {
    if (vector == null) {
      throw EmbeddingException.of(failure == null ? new IllegalStateException("there is no vector") : failure);
    }
    try {
      Centroids.Match match = centroids.match(vector);
      metrics.found(match);
      return match.cluster();
    } catch (EmbeddingException anotherModel) {
      outdated(now, String.valueOf(anotherModel.getMessage()));
      throw anotherModel;
    }
  }

  @Override
  public Duration budget() {
    return service.settings.embeddings().budget();
  }

  @Override
  public void unserved(SemanticCluster cluster) {
    metrics.unserved(cluster);
  }

  /** What is served with less than is configured, for readiness. */
  public List<String> degraded() {
    Service now = service;
    List<String> degraded = new ArrayList<>();
    synchronized (this) {
      if (isBehind()) {
        degraded.add(
            (now.centroids == null
                    ? "the semantic clusters of requests are not known yet: "
                    : "requests go by the semantic clusters from before: ")
                + hindrance);
      }
    }
    if (now.embedder != null) {
      now.embedder
          .away()
          .ifPresent(why -> degraded.add("the semantic clusters of requests are not known: " + why));
    }
    return degraded;
  }

  @Override
  public void close() {
    Upkeep running = upkeep;
    if (running != null) {
      running.close();
    }
  }

  // For the upkeep.

  /** Waits until there are examples to be embedded. */
  synchronized Order await() throws InterruptedException {
    while (!isBehind()) {
      wait();
    }
    return order;
  }

  /** Waits, but not when something else has been ordered than that. */
  synchronized void pause(Order since, Duration pause) throws InterruptedException {
    long end = System.nanoTime() + pause.toNanos();
    for (long left = pause.toNanos(); left > 0 && order.equals(since); left = end - System.nanoTime()) {
      TimeUnit.NANOSECONDS.timedWait(this, left);
    }
  }

  /** From now on requests are compared with this. */
  synchronized void serve(Order fulfilled, Service next) {
    service = next;
    done = fulfilled.number;
    metrics.ready(!isBehind());
  }

  /** What is ordered cannot be in service yet. */
  synchronized void hindered(String why) {
    hindrance = why;
  }

  private synchronized boolean isBehind() {
    return done < order.number;
  }

  /** The endpoint's model is not the one that embedded the examples. */
  private synchronized void outdated(Service found, String why) {
    if (service.equals(found) && !isBehind()) {
      order(order.settings, why);
    }
  }

  private synchronized void order(SemanticSettings settings, String why) {
    order = new Order(settings, order.number + 1);
    hindrance = why;
    metrics.ready(false);
    notifyAll();
  }
}
