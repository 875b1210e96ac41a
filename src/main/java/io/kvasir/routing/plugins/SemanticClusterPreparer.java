package io.kvasir.routing.plugins;

import io.kvasir.routing.AsyncPreparer;
import io.kvasir.routing.Parameters;
import io.kvasir.routing.Preparer;
import io.kvasir.routing.RequestFacts.UserTurn;
import io.kvasir.routing.SemanticCluster;
import io.kvasir.routing.Slots;
import io.kvasir.routing.TextClusters;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * The semantic cluster of the user's text in the {@code turn} (last; the first keeps a conversation in one cluster).
 * Unknown when the classifier fails or exceeds its budget.
 */
final class SemanticClusterPreparer {
  private static final CompletionStage<SemanticCluster> NONE = CompletableFuture.completedStage(SemanticCluster.NONE);

  private SemanticClusterPreparer() {}

  static Preparer of(Parameters parameters, TextClusters clusters) {
    UserTurn turn = parameters.choice("turn", UserTurn.LAST);
    return new AsyncPreparer<>(
        Slots.SEMANTIC_CLUSTER,
        Set.of(Slots.FACTS),
        clusters::budget,
        SemanticCluster.UNKNOWN,
        context -> {
          String text = context.facts().userText(turn);
          return text == null ? NONE : clusters.of(text);
        });
  }
}
