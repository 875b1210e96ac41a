package io.kvasir.app.node;

import io.kvasir.app.config.ConfigException;
import io.kvasir.app.config.KvasirConfig;
import io.kvasir.app.config.PluginJars;
import io.kvasir.app.config.RoutingReader;
import io.kvasir.app.config.RoutingSettings;
import io.kvasir.cell.PodSpec;
import io.kvasir.cell.ProfileSet;
import io.kvasir.lmcache.LmCache;
import io.kvasir.routing.CacheLayer;
import io.kvasir.routing.ExternalMetrics;
import io.kvasir.routing.LiveProfiles;
import io.kvasir.routing.PluginRegistry;
import io.kvasir.routing.ProfileChoice;
import io.kvasir.routing.Profiles;
import io.kvasir.routing.RoutingMetrics;
import io.kvasir.routing.cost.CostModel;
import io.kvasir.routing.cost.OutputLengths;
import io.kvasir.routing.plugins.BuiltInPlugins;
import io.kvasir.semantic.SemanticClusters;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What routing decisions are made with: the profiles in service, their plugins, and the services that plugins consult.
 * The services do nothing before {@link #start}, and each is closed by its owner. Owns the class loaders of the plugin
 * jars, and is closed when nothing is decided any more. Thread-safe.
 */
final class RoutingAssembly implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(RoutingAssembly.class);

  private final CostModel costs = CostModel.bundled();
  private final OutputLengths outputs = new OutputLengths();
  private final ExternalMetrics externalMetrics = new ExternalMetrics();
  private final SemanticClusters clusters;
  private final @Nullable LmCache lmcache;
  private final PluginJars jars;
  private final PluginRegistry plugins;
  private final LiveProfiles profiles;

  /**
   * Opens the plugin jars and compiles the profiles.
   *
   * @throws StartException when a jar or a profile has got a fault since the configuration was read
   */
  RoutingAssembly(KvasirConfig config) throws StartException {
    RoutingSettings settings = config.routing();
    this.clusters = new SemanticClusters(settings.semanticClusters(), NanoClock.SYSTEM);
    this.lmcache = settings.lmcache() == null ? null : new LmCache(settings.lmcache(), NanoClock.SYSTEM);
    this.jars = new PluginJars(settings.pluginPath());
    try {
      this.plugins =
          jars.addTo(
              BuiltInPlugins.registry(
                  costs, outputs, externalMetrics, clusters, lmcache == null ? CacheLayer.NONE : lmcache));
      if (!jars.faults().isEmpty()) {
        throw new ConfigException(jars.faults());
      }
      this.profiles = new LiveProfiles(RoutingReader.reloadable(config.source().platform(), plugins).profiles());
    } catch (ConfigException changed) {
      jars.close();
      throw new StartException("the profiles cannot be compiled: " + changed.getMessage(), changed);
    }
    jars.plugins().forEach(plugin -> LOG.info("the plugin {} is from {}", plugin.type().name(), plugin.jar()));
    warnOfUnknownEngines(config.fleet().pods());
  }

  /**
   * Starts the services that plugins consult.
   *
   * @param workers ids of all workers; may take a moment
   */
  void start(Supplier<Set<String>> workers, Metrics metrics, Readiness readiness) {
    clusters.start(metrics);
    readiness.degradation(clusters::problems);
    if (lmcache != null) {
      lmcache.start(workers, () -> usesCacheLayer(profiles.current()), costs, metrics);
      readiness.degradation(lmcache::problems);
    }
  }

  /** What the homes of cells decide with. */
  ProfileSet profileSet(Metrics metrics) {
    RoutingMetrics routingMetrics = new RoutingMetrics(metrics);
    routingMetrics.watch(costs);
    return new ProfileSet(profiles, costs, outputs, routingMetrics);
  }

  CostModel costs() {
    return costs;
  }

  LiveProfiles profiles() {
    return profiles;
  }

  PluginRegistry plugins() {
    return plugins;
  }

  ExternalMetrics externalMetrics() {
    return externalMetrics;
  }

  SemanticClusters clusters() {
    return clusters;
  }

  @Nullable LmCache lmcache() {
    return lmcache;
  }

  @Override
  public void close() {
    jars.close();
  }

  /** An unknown name is no fault, for there are more engines than coefficients, but may be misspelt. */
  private void warnOfUnknownEngines(List<PodSpec> pods) {
    for (PodSpec pod : pods) {
      if (!costs.hasCoefficients(pod.engine().name())) {
        LOG.warn(
            "pod {}: no latency coefficients are known by the name '{}'; those of a middling engine are used",
            pod.name(),
            pod.engine().name());
      }
    }
  }

  /** Whether a profile that requests get without choosing one consults LMCache. */
  private static boolean usesCacheLayer(Profiles profiles) {
    ProfileChoice choice = profiles.choice();
    return Stream.of(List.of(choice.standard()), choice.models().values(), choice.tenants().values())
        .flatMap(Collection::stream)
        .map(profiles::named)
        .anyMatch(profile -> profile != null && BuiltInPlugins.useCacheLayer(profile));
  }
}
