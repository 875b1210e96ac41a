package io.kvasir.routing.plugins;

import io.kvasir.routing.Candidates;
import io.kvasir.routing.Filter;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.SemanticCluster;
import io.kvasir.routing.Slot;
import io.kvasir.routing.Slots;
import io.kvasir.routing.TextClusters;
import io.kvasir.routing.UnmetNeed;
import io.kvasir.routing.Worker;
import java.util.Set;

/**
 * Keeps the workers of the request's semantic cluster, and all workers when it has none. When no worker of the cluster
 * can serve the request, the filter is relaxed.
 */
final class SemanticClusterFilter implements Filter {
  /** Key of the note in the decision's reason. */
  private static final String NOTE = "cluster";

  private final TextClusters clusters;
  private final PerMembershipAndKey<SemanticCluster, long[]> members =
      new PerMembershipAndKey<>(SemanticClusterFilter::members);

  SemanticClusterFilter(TextClusters clusters) {
    this.clusters = clusters;
  }

  private static long[] members(Worker[] table, SemanticCluster cluster) {
    LabelSelector selector = LabelSelector.of(cluster.workers());
    return Bitmaps.of(table, worker -> selector.matches(worker.labels()));
  }

  @Override
  public void filter(RoutingContext context, Candidates candidates) {
    SemanticCluster cluster = context.get(Slots.SEMANTIC_CLUSTER);
    context.note(NOTE, cluster.name());
    Bitmaps.keep(candidates, members.of(candidates, cluster));
  }

  @Override
  public boolean relax(RoutingContext context) {
    SemanticCluster cluster = context.get(Slots.SEMANTIC_CLUSTER);
    if (cluster.workers().isEmpty()) {
      return false;
    }
    context.note(NOTE, cluster.name() + ":unserved");
    if (!context.dryRun()) {
      clusters.onUnserved(cluster);
    }
    return true;
  }

  @Override
  public UnmetNeed unmetNeed() {
    return UnmetNeed.ASKED_FOR;
  }

  @Override
  public Set<Slot<?>> reads() {
    return Set.of(Slots.SEMANTIC_CLUSTER);
  }
}
