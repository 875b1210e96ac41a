package io.kvasir.semantic;

import io.kvasir.routing.SemanticCluster;
import io.kvasir.routing.TextClusters;
import io.kvasir.semantic.EmbeddingException.Reason;
import io.kvasir.telemetry.Metrics;
import io.kvasir.telemetry.Problem;
import io.kvasir.time.NanoClock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The semantic clusters of a node: the front of this room. Before {@link #start}, and until the clusters' examples have
 * been embedded, every request's cluster is unknown. New settings replace those in service when their examples have
 * been embedded. Thread-safe. Owns the HTTP client and the thread that embeds examples.
 */
public final class SemanticClusters implements TextClusters, AutoCloseable {
  private static final String REMEDY =
      "see that the endpoint of embeddings answers and that its settings are right; it is tried again by itself";

  private final SemanticMetrics metrics = new SemanticMetrics();
  private final NanoClock clock;
  private final ClusterRollout rollout;
  private volatile @Nullable ExampleEmbedder exampleEmbedder;

  /** Clusters that are not in service yet. */
  public SemanticClusters(SemanticSettings settings, NanoClock clock) {
    this.clock = clock;
    this.rollout = new ClusterRollout(settings, metrics, clock);
  }

  /** Registers the metrics and starts embedding the examples, again and again until that has succeeded. Once. */
  public void start(Metrics registry) {
    metrics.register(registry);
    exampleEmbedder = new ExampleEmbedder(rollout, metrics, clock);
  }

  /** Replaces the settings. Examples are embedded again even when the settings are the same. */
  public void configure(SemanticSettings settings) {
    rollout.configure(settings);
  }

  @Override
  public CompletionStage<SemanticCluster> of(String text) {
    ActiveClusters active = rollout.active();
    if (!active.settings().isOn()) {
      return CompletableFuture.completedStage(SemanticCluster.NONE);
    }
    Embedder embedder = active.embedder();
    Centroids centroids = active.centroids();
    if (embedder == null || centroids == null) {
      metrics.recordFailure(Reason.STARTING);
      return CompletableFuture.failedStage(new EmbeddingException(Reason.STARTING, "there are no centroids yet"));
    }
    return embedder
        .embed(text)
        .orTimeout(active.settings().embeddings().budget().toNanos(), TimeUnit.NANOSECONDS)
        .handle((vector, failure) -> {
          try {
            return cluster(active, centroids, vector, failure);
          } catch (EmbeddingException none) {
            metrics.recordFailure(none.reason());
            throw new CompletionException(none);
          }
        });
  }

  private SemanticCluster cluster(
      ActiveClusters active, Centroids centroids, float @Nullable [] vector, @Nullable Throwable failure)
      throws EmbeddingException {
    if (vector == null) {
      throw EmbeddingException.of(failure == null ? new IllegalStateException("there is no vector") : failure);
    }
    try {
      Centroids.NearestCluster match = centroids.match(vector);
      metrics.recordMatch(match);
      return match.cluster();
    } catch (EmbeddingException otherModel) {
      rollout.reembed(active, String.valueOf(otherModel.getMessage()));
      throw otherModel;
    }
  }

  @Override
  public Duration budget() {
    return rollout.active().settings().embeddings().budget();
  }

  @Override
  public void onUnserved(SemanticCluster cluster) {
    metrics.unserved(cluster);
  }

  /** What keeps requests from being routed by the clusters that are configured. */
  public List<Problem> problems() {
    ActiveClusters active = rollout.active();
    List<Problem> problems = new ArrayList<>();
    rollout
        .pendingReason()
        .ifPresent(
            reason ->
                problems.add(
                    Problem.warning(
                        (active.centroids() == null
                                ? "the semantic clusters of requests are not known yet: "
                                : "requests are routed by the semantic clusters from before: ")
                            + reason,
                        REMEDY)));
    Embedder embedder = active.embedder();
    if (embedder != null) {
      embedder
          .openReason()
          .ifPresent(
              reason ->
                  problems.add(Problem.warning("the semantic clusters of requests are not known: " + reason, REMEDY)));
    }
    return problems;
  }

  @Override
  public void close() {
    ExampleEmbedder running = exampleEmbedder;
    if (running != null) {
      running.close();
    }
  }
}
