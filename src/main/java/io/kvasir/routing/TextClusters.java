package io.kvasir.routing;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** A classifier of texts into semantic clusters. Thread-safe. */
public interface TextClusters {
  /** The classifier when no clusters are configured. */
  TextClusters NONE = new TextClusters() {
    @Override
    public CompletionStage<SemanticCluster> of(String text) {
      return CompletableFuture.completedStage(SemanticCluster.NONE);
    }

    @Override
    public Duration budget() {
      return Duration.ofSeconds(1);
    }

    @Override
    public void onUnserved(SemanticCluster cluster) {}
  };

  /** Classifies a text without waiting; the stage fails when that is not possible. */
  CompletionStage<SemanticCluster> of(String text);

  /** The longest wait of a request for {@link #of}, more than 0. */
  Duration budget();

  /** Called when no worker of a cluster could serve a request of it, so that all workers may. */
  void onUnserved(SemanticCluster cluster);
}
