package io.kvasir.routing;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import com.typesafe.config.ConfigParseOptions;
import io.kvasir.index.Chain;
import io.kvasir.routing.cost.CostModel;
import io.kvasir.routing.cost.OutputLengths;
import io.kvasir.routing.plugins.BuiltInPlugins;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.stream.LongStream;

/** Routing as a cell wires it, for tests. */
final class Routing {
  final CostModel costs = CostModel.bundled();
  final OutputLengths outputs = new OutputLengths();
  final ExternalMetrics figures = new ExternalMetrics();
  final PrometheusRegistry registry = new PrometheusRegistry();
  private final RoutingMetrics metrics = new RoutingMetrics(new Metrics(registry));
  private final ProfileCompiler compiler = new ProfileCompiler(registry(CacheLayer.NONE));
  private final long seed;

  Routing(long seed) {
    this.seed = seed;
  }

  private PluginRegistry registry(CacheLayer layer, PluginType<?>... more) {
    return BuiltInPlugins.registry(costs, outputs, figures, TextClusters.NONE, layer, more);
  }

  /** A compiler that knows one more workflow. */
  ProfileCompiler compiler(WorkflowType more) {
    return new ProfileCompiler(registry(CacheLayer.NONE).plus(more));
  }

  /** A compiler whose plugins hear of a cache layer. */
  ProfileCompiler compiler(CacheLayer layer) {
    return new ProfileCompiler(registry(layer));
  }

  /** A compiler that knows one more plugin. */
  ProfileCompiler compiler(PluginType<?> more) {
    return new ProfileCompiler(registry(CacheLayer.NONE, more));
  }

  Map<String, Profile> compile(String profiles) {
    return compiler.compile(config(profiles));
  }

  /** Profiles as if they stood in a file named kvasir.conf. */
  static Config config(String profiles) {
    return ConfigFactory.parseString(
        profiles, ConfigParseOptions.defaults().setOriginDescription("kvasir.conf"));
  }

  /** A selector for a built-in profile. */
  Selector selector(String profile) {
    return selector(profile, "");
  }

  /** A selector for one of {@code profiles}. */
  Selector selector(String profile, String profiles) {
    return selector(profile, profiles, NanoClock.SYSTEM);
  }

  private Selector selector(String profile, String profiles, NanoClock clock) {
    Profile compiled = compile(profiles).get(profile);
    if (compiled == null) {
      throw new IllegalArgumentException(profile);
    }
    return selector(compiled, clock);
  }

  Selector selector(Profile compiled, NanoClock clock) {
    return new Selector(compiled, costs, new SplittableRandom(seed), metrics, clock);
  }

  /** The workflow of one of {@code profiles}. */
  Workflow workflow(String profile, String profiles) {
    return workflow(compile(profiles), profile);
  }

  Workflow workflow(Map<String, Profile> profiles, String profile) {
    Profile compiled = profiles.get(profile);
    if (compiled == null) {
      throw new IllegalArgumentException(profile);
    }
    return compiled.workflow(
        part -> new Selector(part, costs, new SplittableRandom(seed), metrics, NanoClock.SYSTEM), metrics);
  }

  /** A selector with the given picker and scorers and the usual preparers and filters. */
  Selector picking(String pickAndScore) {
    return picking(pickAndScore, NanoClock.SYSTEM);
  }

  /** As {@link #picking(String)}, with a clock of the test. */
  Selector picking(String pickAndScore, NanoClock clock) {
    return selector(
        "mine",
        """
        mine {
          prepare = [ tokenize, block-hash, session-key, hash-key, client-wishes, location ]
          filter = [ role, model, excluded, concurrency-limit ]
          execute = forward
          %s
        }
        """
            .formatted(pickAndScore),
        clock);
  }

  /** A request for model {@code m} with a prompt of so many full blocks and tokens. */
  static RoutingContext request(int blocks, int blockSize, int promptTokens) {
    return request("m", Role.BOTH, Set.of())
        .put(Slots.PROMPT_TOKENS, promptTokens)
        .put(Slots.CHAIN, new Chain(LongStream.rangeClosed(1, blocks).toArray(), blockSize));
  }

  static RoutingContext request(String model, Role role, Set<String> excluded) {
    return new RoutingContext("r1", model, role, excluded);
  }
}
