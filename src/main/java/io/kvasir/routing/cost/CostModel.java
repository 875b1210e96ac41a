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
 * <p>The table has initial values. A deployment's actual costs are learnt from its times to first token, and so is the
 * pace of those of its engines that take longer or shorter than the others. Thread-safe; reading never waits.
 */
public final class CostModel {
  /** The most deployments with learnt costs; further ones keep their initial values. */
  private static final int MAX_FITS = 1024;

  /** The relative change at which a fit is published: decisions cache tables of costs. */
  private static final double PUBLISH_THRESHOLD = 0.02;

  /** Prompts as which the coefficients of an engine in the table count when its own are learnt. */
  private static final int PRIOR_PROMPTS = 4;

  /** The same of an engine that is not: its order of magnitude. */
  private static final int UNKNOWN_PRIOR_PROMPTS = 1;

  /** Times to first token from which on learnt costs count as known. */
  private static final int KNOWN_SAMPLES = 64;

  private final Map<String, EngineCost> engines;
  private final EngineCost unknown;
  private final Map<String, DecodeCost> decodes;
  private final DecodeCost unknownDecode;
  private final ConcurrentMap<Deployment, Learning> learning = new ConcurrentHashMap<>();
  private final ConcurrentMap<EngineInstance, EngineCost> assumed = new ConcurrentHashMap<>();
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

  /** The learnt cost of one engine: its deployment's, times its own pace. */
  public EngineCost of(EngineInstance engine) {
    EngineCost known = assumed.get(engine);
    if (known != null) {
      return known;
    }
    EngineCost cost = of(engine.deployment());
    double pace = pace(engine);
    return pace == 1 ? cost : cost.paced(pace);
  }

  /** How many times as long an engine takes as the others of its deployment; 1 when it is like them. */
  public double pace(EngineInstance engine) {
    Learning learnt = learning.get(engine.deployment());
    return learnt == null ? 1 : learnt.paces.of(engine.worker());
  }

  /** The costs of a fleet, given the engine at each slot. */
  public FleetCosts of(List<EngineInstance> engines) {
    return new FleetCosts(this, engines);
  }

  /** The version of the costs: another number after a deployment's published cost has changed. */
  public long version() {
    return version.get();
  }

  /** Sets an engine's cost, whatever is learnt, for the replay of past decisions. */
  public void assume(EngineInstance engine, double msPerToken, double msPerPair) {
    EngineCost known = of(engine);
    if (known.msPerToken() != msPerToken || known.msPerPair() != msPerPair) {
      assumed.put(engine, new EngineCost(msPerToken, msPerPair, known.msPerContextToken(), known.kvTokens()));
      version.incrementAndGet();
    }
  }

  /** Learns from an engine's time to first token; implausible samples are ignored. */
  public void observe(EngineInstance engine, PrefillSample prefill) {
    Deployment deployment = engine.deployment();
    Learning learnt = learning.get(deployment);
    if (learnt == null && learning.size() < MAX_FITS) {
      learnt = learning.computeIfAbsent(deployment, _ -> learning(deployment.engine()));
    }
    if (learnt != null && prefill.isPlausible() && learnt.observe(engine.worker(), prefill)) {
      version.incrementAndGet();
    }
  }

  private Learning learning(String engine) {
    return new Learning(of(engine), engines.containsKey(engine) ? PRIOR_PROMPTS : UNKNOWN_PRIOR_PROMPTS);
  }

  /** Forgets the pace of an engine that has left. */
  public void forget(EngineInstance engine) {
    Learning learnt = learning.get(engine.deployment());
    if (learnt != null) {
      learnt.paces.forget(engine.worker());
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
    private final DeploymentPaces paces = new DeploymentPaces();
    private volatile EngineCost published;
    private volatile long samples;

    Learning(EngineCost start, int priorPrompts) {
      this.fit = new CostFit(start, priorPrompts);
      this.published = start;
    }

    /** Adds a sample of a worker's and returns whether a published cost changed. */
    boolean observe(String worker, PrefillSample prefill) {
      double pace = paces.of(worker);
      boolean paced = paces.observe(worker, prefill, fit.learnt());
      fit.observe(prefill.paced(1 / pace));
      boolean changed = publish();
      if (changed) {
        paces.refit(fit.learnt());
      }
      return changed || paced;
    }

    private boolean publish() {
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
