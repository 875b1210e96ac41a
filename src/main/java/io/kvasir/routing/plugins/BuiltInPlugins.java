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

/** The registry of the built-in plugins, a line each. */
public final class BuiltInPlugins {
  private static final Set<String> CACHE_LAYER_PLUGINS =
      Set.of("lmcache-lookup", "lmcache-occupancy", "expected-cost-lmcache");

  private BuiltInPlugins() {}

  /** Whether a profile, or one that may decide in its place, reads the cache layer. */
  public static boolean useCacheLayer(Profile profile) {
    return profile
        .reachableProfiles()
        .flatMap(reachable -> reachable.parts().stream())
        .anyMatch(plugin -> CACHE_LAYER_PLUGINS.contains(plugin.plugin()));
  }

  /**
   * A registry of the built-in plugins and others, without external metrics, semantic clusters and cache layer.
   *
   * @param costs the engines' costs
   * @param outputs expected output lengths
   * @param more plugins that are not built in
   */
  public static PluginRegistry registry(CostModel costs, OutputLengths outputs, PluginType<?>... more) {
    return registry(costs, outputs, new ExternalMetrics(), TextClusters.NONE, CacheLayer.NONE, more);
  }

  /**
   * A registry of the built-in plugins and others.
   *
   * @param costs the engines' costs
   * @param outputs expected output lengths
   * @param externalMetrics metrics of workers that other systems report
   * @param clusters the classifier of texts into semantic clusters
   * @param layer the cache layer
   * @param more plugins that are not built in
   */
  public static PluginRegistry registry(
      CostModel costs,
      OutputLengths outputs,
      ExternalMetrics externalMetrics,
      TextClusters clusters,
      CacheLayer layer,
      PluginType<?>... more) {
    List<PluginType<?>> plugins =
        new ArrayList<>(
            List.of(
                preparer("tokenize", parameters -> new DefaultingPreparer<>(Slots.PROMPT_TOKENS, 1L)),
                preparer(
                    "block-hash", parameters -> new DefaultingPreparer<>(Slots.CHAIN, Chain.EMPTY,
                    Slots.PROMPT_TOKENS)),
                preparer("session-key", SessionKeyPreparer::new),
                preparer("hash-key", HashKeyPreparer::new),
                preparer("client-wishes", ClientWishesPreparer::new),
                preparer("location", LocationPreparer::new),
                preparer("semantic-cluster", parameters -> SemanticClusterPreparer.of(parameters, clusters)),
                preparer("lmcache-lookup", parameters -> cacheLookup(layer)),
                preparer("partner", parameters -> new DefaultingPreparer<>(Slots.PARTNER, Partner.NONE)),
                requiredFilter("role", "a prefill-only worker could be sent decode requests",
                    parameters -> new RoleFilter()),
                requiredFilter("model", "requests could reach a worker without their model",
                    parameters -> new ModelFilter()),
                requiredFilter(
                    "excluded", "a retry could return to the worker that failed", parameters -> new ExcludedFilter()),
                filter("pair", parameters -> new PairFilter()),
                filter("concurrency-limit", parameters -> new ConcurrencyLimitFilter()),
                filter("saturation", SaturationFilter::new),
                filter("overload", OverloadFilter::new),
                filter("labels", LabelsFilter::new),
                filter("allow-list", WorkerListFilter::allow),
                filter("exclude-list", WorkerListFilter::exclude),
                filter("semantic-cluster", parameters -> new SemanticClusterFilter(clusters)),
                filter("warm", parameters -> new WarmFilter(parameters, costs)),
                filter("start-in-time", parameters -> new StartInTimeFilter(parameters, costs)),
                scorer("expected-cost", parameters -> new ExpectedCostScorer(parameters, costs, outputs)),
                scorer("expected-cost-lmcache",
                    parameters -> new ExpectedCostLmCacheScorer(parameters, costs, outputs, layer)),
                scorer("lmcache-occupancy", parameters -> new LmCacheOccupancyScorer(parameters, layer)),
                scorer("lmcache-lookup", parameters -> new LmCacheLookupScorer(parameters, layer)),
                scorer("handover-cost", parameters -> new HandoverCostScorer(parameters, costs, outputs)),
                scorer("near-prefill", NearPrefillScorer::new),
                scorer("work-left", parameters -> new WorkLeftScorer(parameters, costs)),
                scorer("additive-blocks", AdditiveBlocksScorer::new),
                scorer("lmetric", parameters -> new LmetricScorer()),
                scorer("preble", parameters -> new PrebleScorer(parameters, costs, outputs)),
                scorer("cache-aware", CacheAwareScorer::new),
                scorer("longest-prefix", LongestPrefixScorer::new),
                scorer("cache-affinity", parameters -> new CacheAffinityScorer()),
                scorer("tier-affinity", TierAffinityScorer::new),
                scorer("least-load", LeastLoadScorer::new),
                scorer("kv-room", parameters -> new KvRoomScorer(costs)),
                scorer("no-hit-lru", NoHitLruScorer::new),
                scorer("session-affinity", parameters -> new SessionAffinityScorer()),
                scorer("locality", LocalityScorer::new),
                scorer("lora-affinity", LoraAffinityScorer::new),
                scorer("external-metric", parameters -> new ExternalMetricScorer(parameters, externalMetrics)),
                scorer("random", parameters -> new RandomScorer()),
                picker("max-score", parameters -> new MaxScorePicker()),
                picker("weighted-random", WeightedRandomPicker::new),
                picker("power-of-two", parameters -> new PowerOfTwoPicker()),
                picker("consistent-hash", ConsistentHashPicker::new),
                picker("session", SessionPicker::new),
                picker("round-robin", parameters -> new RoundRobinPicker()),
                picker("random", parameters -> new RandomPicker()),
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
