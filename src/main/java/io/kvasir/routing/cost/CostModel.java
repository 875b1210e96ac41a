package io.kvasir.routing.cost;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import com.typesafe.config.ConfigParseOptions;
import com.typesafe.config.ConfigUtil;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.ToDoubleFunction;

/**
 * The cost model of all engines: coefficients by engine name from a table, and learnt coefficients by {@link
 * Deployment}. Engines that are not in the table get the median of those that are: the order of magnitude of a
 * mid-sized model on a current accelerator. It ranks workers of one kind as well as exact coefficients, and is only
 * inexact in how much queueing a cache hit is worth.
 *
 * <p>The table has initial values. A deployment's actual costs are learnt from its times to first token. Thread-safe;
 * reading never waits.
 */
public final class CostModel {
  /** The most deployments with learnt costs; further ones keep their initial values. */
  private static final int MAX_FITS = 1024;

  /** The relative change at which a fit is published: decisions cache tables of costs. */
  private static final double PUBLISH_THRESHOLD = 0.02;

  /** Times to first token from which on learnt costs count as known. */
  private static final int KNOWN_SAMPLES = 64;

  private final Map<String, EngineCost> engines;
  private final EngineCost unknown;
  private final Map<String, DecodeCost> decodes;
  private final DecodeCost unknownDecode;
  private final ConcurrentMap<Deployment, Learning> learning = new ConcurrentHashMap<>();
  private final AtomicLong version = new AtomicLong();

  private CostModel(Map<String, EngineCost> engines, Map<String, DecodeCost> decodes) {
    this.engines = Map.copyOf(engines);
    this.unknown =
        new EngineCost(
            median(engines, EngineCost::msPerToken),
            median(engines, EngineCost::msPerPair),
            median(engines, EngineCost::msPerContextToken),
            median(engines, EngineCost::kvTokens));
    this.decodes = Map.copyOf(decodes);
    this.unknownDecode =
        new DecodeCost(
            median(decodes, DecodeCost::stepMs),
            median(decodes, DecodeCost::msPerSequence),
            unknown.msPerContextToken(),
            unknown.kvTokens());
  }

  /**
   * The bundled table: vLLM on A100, H100 and H200, fitted to the kernel measurements published with NVIDIA
   * AIConfigurator.
   */
  public static CostModel bundled() {
    Config table =
        ConfigFactory.parseResources(
            CostModel.class, "engine_coefficients.json", ConfigParseOptions.defaults().setAllowMissing(false));
    Map<String, EngineCost> engines = new HashMap<>();
    Map<String, DecodeCost> decodes = new HashMap<>();
    for (String name : table.root().keySet()) {
      Config engine = table.getConfig(ConfigUtil.quoteString(name));
      EngineCost cost =
          new EngineCost(
              engine.getDouble("c_tok_us") / 1e3,
              engine.getDouble("c_attn_prefill_ns_per_qctx") / 1e6,
              engine.getDouble("c_dec_ctx_us_per_1k") / 1e6,
              engine.getDouble("kv_capacity_tokens_est"));
      DecodeCost decode =
          new DecodeCost(
              engine.getDouble("t_weight_ms") + engine.getDouble("step_overhead_ms"),
              (engine.getDouble("c_dec_seq_us") + engine.getDouble("step_overhead_per_seq_us")) / 1e3,
              cost.msPerContextToken(),
              cost.kvTokens());
      engines.put(name, cost);
      decodes.put(name, decode);
      // One row may stand for several models of one shape.
      String models = engine.getString("model");
      for (String model : List.of(models.split("/", -1))) {
        engines.put(name.replace(models, model), cost);
        decodes.put(name.replace(models, model), decode);
      }
    }
    return new CostModel(engines, decodes);
  }

  /** A model with prefill costs multiplied by {@code factor}, to study the effect of wrong coefficients. */
  public CostModel prefillScaled(double factor) {
    Map<String, EngineCost> scaled = new HashMap<>();
    engines.forEach((name, cost) -> scaled.put(name, cost.prefillScaled(factor)));
    return new CostModel(scaled, decodes);
  }

  /** The initial cost of an engine, the table's median when the name is unknown. */
  public EngineCost of(String engine) {
    return engines.getOrDefault(engine, unknown);
  }

  /** The cost of an engine's decode steps, the table's median when the name is unknown. */
  public DecodeCost decode(String engine) {
    return decodes.getOrDefault(engine, unknownDecode);
  }

  /** The learnt cost of a deployment, its engine's initial cost while nothing is learnt. */
  public EngineCost of(Deployment deployment) {
    Learning learnt = learning.get(deployment);
    return learnt == null ? of(deployment.engine()) : learnt.published;
  }

  /** The costs of a fleet, given the deployment at each slot. */
  public FleetCosts of(List<Deployment> deployments) {
    return new FleetCosts(this, deployments);
  }

  /** The version of the costs: another number after a deployment's published cost has changed. */
  public long version() {
    return version.get();
  }

  /** Sets a deployment's cost until something is learnt, for the replay of past decisions. */
  public void assume(Deployment deployment, double msPerToken, double msPerPair) {
    EngineCost start = of(deployment.engine());
    Learning known = learning.computeIfAbsent(deployment, _ -> new Learning(start));
    if (known.published.msPerToken() != msPerToken || known.published.msPerPair() != msPerPair) {
      known.published = new EngineCost(msPerToken, msPerPair, start.msPerContextToken(), start.kvTokens());
      version.incrementAndGet();
    }
  }

  /** Learns from a deployment's time to first token; implausible samples are ignored. */
  public void observe(Deployment deployment, PrefillSample prefill) {
    Learning learnt = learning.get(deployment);
    if (learnt == null && learning.size() < MAX_FITS) {
      learnt = learning.computeIfAbsent(deployment, _ -> new Learning(of(deployment.engine())));
    }
    if (learnt != null && prefill.isPlausible() && learnt.observe(prefill)) {
      version.incrementAndGet();
    }
  }

  /** The learnt costs of all deployments with samples. */
  public Map<Deployment, LearntCost> learnt() {
    Map<Deployment, LearntCost> all = new HashMap<>();
    learning.forEach((deployment, one) -> all.put(deployment, one.fit.learnt()));
    return all;
  }

  /**
   * Whether a deployment's costs are more than an order of magnitude: the table has its engine, or they have been
   * learnt.
   */
  public boolean isKnown(Deployment deployment) {
    if (engines.containsKey(deployment.engine())) {
      return true;
    }
    Learning learnt = learning.get(deployment);
    return learnt != null && learnt.samples >= KNOWN_SAMPLES;
  }

  /** Whether the table has an engine's coefficients. */
  public boolean hasCoefficients(String engine) {
    return engines.containsKey(engine);
  }

  /** A deployment's fit, and its published cost, which decisions use. */
  private static final class Learning {
    private final CostFit fit;
    private volatile EngineCost published;
    private volatile long samples;

    Learning(EngineCost start) {
      this.fit = new CostFit(start);
      this.published = start;
    }

    /** Adds a sample and returns whether the published cost changed. */
    boolean observe(PrefillSample prefill) {
      fit.observe(prefill);
      LearntCost learnt = fit.learnt();
      samples = learnt.samples();
      EngineCost now = learnt.cost();
      EngineCost before = published;
      boolean changed =
          isFar(now.msPerToken(), before.msPerToken()) || isFar(now.msPerPair(), before.msPerPair());
      if (changed) {
        published = now;
      }
      return changed;
    }

    private static boolean isFar(double now, double before) {
      return Math.abs(now - before) > PUBLISH_THRESHOLD * before;
    }
  }

  private static <T> double median(Map<String, T> table, ToDoubleFunction<T> coefficient) {
    double[] sorted = table.values().stream().distinct().mapToDouble(coefficient).toArray();
    Arrays.sort(sorted);
    return sorted[sorted.length / 2];
  }
}
