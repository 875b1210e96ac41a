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
 * Keeps the workers of the request's semantic cluster, and all where it has none. When nobody of the cluster can serve
 * the request, everybody may.
 */
final class SemanticClusterFilter implements Filter {
  /** What the decision's reason says it about. */
  private static final String NOTE = "cluster";

  private final TextClusters clusters;
  private final PerMembershipAndText<Kept> kept = new PerMembershipAndText<>(Kept::of);

  SemanticClusterFilter(TextClusters clusters) {
    this.clusters = clusters;
  }

  /** A cluster and the slots of its workers. */
  private record Kept(SemanticCluster cluster, long[] bitmap) {
    static Kept of(Worker[] table, String written) {
      SemanticCluster cluster = SemanticCluster.decode(written);
      LabelSelector selector = LabelSelector.of(cluster.workers());
      return new Kept(cluster, Bitmaps.of(table, worker -> selector.matches(worker.labels())));
    }
  }

  @Override
  public void filter(RoutingContext context, Candidates candidates) {
    Kept of = kept.of(candidates, context.get(Slots.SEMANTIC_CLUSTER));
    context.note(NOTE, of.cluster.name());
    Bitmaps.keep(candidates, of.bitmap);
  }

  @Override
  public boolean relax(RoutingContext context) {
    SemanticCluster cluster = SemanticCluster.decode(context.get(Slots.SEMANTIC_CLUSTER));
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
