package io.kvasir.routing.plugins;

import static io.kvasir.routing.PluginType.executionPolicy;
import static io.kvasir.routing.PluginType.filter;
import static io.kvasir.routing.PluginType.picker;
import static io.kvasir.routing.PluginType.preparer;
import static io.kvasir.routing.PluginType.requiredFilter;
import static io.kvasir.routing.PluginType.scorer;

import io.kvasir.index.Chain;
import io.kvasir.routing.AsyncPreparer;
import io.kvasir.routing.CacheLayer;
import io.kvasir.routing.CacheMatches;
import io.kvasir.routing.ExecutionPolicy;
import io.kvasir.routing.ExternalMetrics;
import io.kvasir.routing.Partner;
import io.kvasir.routing.PluginRegistry;
import io.kvasir.routing.PluginType;
import io.kvasir.routing.Preparer;
import io.kvasir.routing.Profile;
import io.kvasir.routing.Slots;
import io.kvasir.routing.TextClusters;
import io.kvasir.routing.cost.CostModel;
import io.kvasir.routing.cost.OutputLengths;
import io.kvasir.routing.workflows.BuiltInWorkflows;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** Every plugin Kvasir comes with, a line each. */
public final class BuiltInPlugins {
  private static final Set<String> CACHE_LAYER_PLUGINS =
      Set.of("lmcache-lookup", "lmcache-occupancy", "expected-cost-lmcache");

  private BuiltInPlugins() {}

  /** Whether a profile, or one that may decide in its place, looks at what a cache layer says. */
  public static boolean useCacheLayer(Profile profile) {
    return profile
        .reachableProfiles()
        .flatMap(one -> one.parts().stream())
        .anyMatch(part -> CACHE_LAYER_PLUGINS.contains(part.plugin()));
  }

  /**
   * The registry of them, and of others, where nobody outside says anything of workers and there is no cache layer.
   *
   * @param costs what prompts cost engines
   * @param outputs how long answers tend to be; whoever sees outcomes feeds it
   * @param more plugins that do not come with Kvasir
   */
  public static PluginRegistry registry(CostModel costs, OutputLengths outputs, PluginType<?>... more) {
    return registry(costs, outputs, new ExternalMetrics(), TextClusters.NONE, CacheLayer.NONE, more);
  }

  /**
   * The registry of them, and of others.
   *
   * @param costs what prompts cost engines
   * @param outputs how long answers tend to be; whoever sees outcomes feeds it
   * @param figures what somebody outside says of workers; whoever hears it feeds it
   * @param clusters tells texts' semantic clusters
   * @param layer what LMCache says; whoever reaches it hands it in
   * @param more plugins that do not come with Kvasir
   */
  public static PluginRegistry registry(
      CostModel costs,
      OutputLengths outputs,
      ExternalMetrics figures,
      TextClusters clusters,
      CacheLayer layer,
      PluginType<?>... more) {
    List<PluginType<?>> plugins =
        new ArrayList<>(
            List.of(
                preparer("tokenize", p -> new DefaultingPreparer<>(Slots.PROMPT_TOKENS, 1L)),
                preparer("block-hash", p -> new DefaultingPreparer<>(Slots.CHAIN, Chain.EMPTY, Slots.PROMPT_TOKENS)),
                preparer("session-key", SessionKeyPreparer::new),
                preparer("hash-key", HashKeyPreparer::new),
                preparer("client-wishes", ClientWishesPreparer::new),
                preparer("location", LocationPreparer::new),
                preparer("semantic-cluster", p -> SemanticClusterPreparer.of(p, clusters)),
                preparer("lmcache-lookup", p -> cacheLookup(layer)),
                preparer("partner", p -> new DefaultingPreparer<>(Slots.PARTNER, Partner.NONE)),
                requiredFilter("role", "a prefill-only worker could be asked to generate", p -> new RoleFilter()),
                requiredFilter("model", "requests could reach a worker without their model", p -> new ModelFilter()),
                requiredFilter("excluded", "a retry could return to the worker that failed", p -> new ExcludedFilter()),
                filter("pair", p -> new PairFilter()),
                filter("concurrency-limit", p -> new ConcurrencyLimitFilter()),
                filter("saturation", SaturationFilter::new),
                filter("overload", OverloadFilter::new),
                filter("labels", LabelsFilter::new),
                filter("allow-list", WorkerListFilter::allow),
                filter("exclude-list", WorkerListFilter::exclude),
                filter("semantic-cluster", p -> new SemanticClusterFilter(clusters)),
                filter("warm", p -> new WarmFilter(p, costs)),
                filter("start-in-time", p -> new StartInTimeFilter(p, costs)),
                scorer("expected-cost", p -> new ExpectedCostScorer(p, costs, outputs)),
                scorer("expected-cost-lmcache", p -> new ExpectedCostLmCacheScorer(p, costs, outputs)),
                scorer("lmcache-occupancy", p -> new LmCacheOccupancyScorer(p, layer)),
                scorer("lmcache-lookup", LmCacheLookupScorer::new),
                scorer("handover-cost", p -> new HandoverCostScorer(p, costs, outputs)),
                scorer("near-prefill", NearPrefillScorer::new),
                scorer("work-left", p -> new WorkLeftScorer(p, costs)),
                scorer("additive-blocks", AdditiveBlocksScorer::new),
                scorer("lmetric", p -> new LmetricScorer()),
                scorer("preble", p -> new PrebleScorer(p, costs, outputs)),
                scorer("cache-aware", CacheAwareScorer::new),
                scorer("longest-prefix", LongestPrefixScorer::new),
                scorer("cache-affinity", p -> new CacheAffinityScorer()),
                scorer("tier-affinity", TierAffinityScorer::new),
                scorer("least-load", LeastLoadScorer::new),
                scorer("kv-room", p -> new KvRoomScorer(costs)),
                scorer("no-hit-lru", NoHitLruScorer::new),
                scorer("session-affinity", p -> new SessionAffinityScorer()),
                scorer("locality", LocalityScorer::new),
                scorer("lora-affinity", LoraAffinityScorer::new),
                scorer("external-metric", p -> new ExternalMetricScorer(p, figures)),
                scorer("random", p -> new RandomScorer()),
                picker("max-score", p -> new MaxScorePicker()),
                picker("weighted-random", WeightedRandomPicker::new),
                picker("power-of-two", p -> new PowerOfTwoPicker()),
                picker("consistent-hash", ConsistentHashPicker::new),
                picker("session", SessionPicker::new),
                picker("round-robin", p -> new RoundRobinPicker()),
                picker("random", p -> new RandomPicker()),
                executionPolicy("forward", ExecutionPolicy::of)));
    plugins.addAll(List.of(more));
    return new PluginRegistry(plugins, BuiltInWorkflows.types());
  }

  private static Preparer cacheLookup(CacheLayer layer) {
    return new AsyncPreparer<>(
        Slots.CACHE_MATCHES,
        Set.of(Slots.FACTS, Slots.CHAIN, Slots.PROMPT_TOKENS),
        layer.timeout(),
        CacheMatches.UNKNOWN,
        layer::find);
  }
}
