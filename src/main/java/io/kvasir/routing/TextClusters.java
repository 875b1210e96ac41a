package io.kvasir.routing;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** Tells which semantic cluster a text belongs to. Thread-safe. */
public interface TextClusters {
  /** Where there are no clusters. */
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

  /** Finds the cluster of a text without waiting; fails when it cannot be told. */
  CompletionStage<SemanticCluster> of(String text);

  /** How long a request may wait for {@link #of}, more than 0. */
  Duration budget();

  /** No worker of the cluster could serve a request of it, so all might. */
  void onUnserved(SemanticCluster cluster);
}
