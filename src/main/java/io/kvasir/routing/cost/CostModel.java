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
 * The cost of every engine, by name. Names not in the table get the median of those that are: the order of
 * magnitude of a mid-sized model on a current accelerator, which ranks workers of one kind as well as exact
 * figures would (they share it) and only misjudges how much queueing a cache hit is worth.
 *
 * <p>That is where it begins. What a {@link Deployment} really costs is learnt from the times its prompts take to their
 * first token. Reading never waits; thread-safe.
 */
public final class CostModel {
  /** Deployments beyond these keep what they begin with. */
  private static final int MOST_FITS = 1024;

  /** Decisions reckon with a new fit when it is this far from the one before: they keep tables of costs. */
  private static final double NOTABLE = 0.02;

  private final Map<String, EngineCost> engines;
  private final EngineCost unknown;
  private final ConcurrentMap<Deployment, Learning> learning = new ConcurrentHashMap<>();
  private final AtomicLong version = new AtomicLong();

  private CostModel(Map<String, EngineCost> engines) {
    this.engines = Map.copyOf(engines);
    this.unknown =
        new EngineCost(
            median(EngineCost::msPerToken),
            median(EngineCost::msPerPair),
            median(EngineCost::msPerContextToken),
            median(EngineCost::kvTokens));
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
    for (String name : table.root().keySet()) {
      Config engine = table.getConfig(ConfigUtil.quoteString(name));
      EngineCost cost =
          new EngineCost(
              engine.getDouble("c_tok_us") / 1e3,
              engine.getDouble("c_attn_prefill_ns_per_qctx") / 1e6,
              engine.getDouble("c_dec_ctx_us_per_1k") / 1e6,
              engine.getDouble("kv_capacity_tokens_est"));
      engines.put(name, cost);
      // One row may stand for several models of one shape.
      String models = engine.getString("model");
      for (String model : List.of(models.split("/", -1))) {
        engines.put(name.replace(models, model), cost);
      }
    }
    return new CostModel(engines);
  }

  /** The same table, what prompts cost multiplied: to see what comes of coefficients that are wrong. */
  public CostModel prefillScaled(double factor) {
    Map<String, EngineCost> scaled = new HashMap<>();
    engines.forEach((name, cost) -> scaled.put(name, cost.prefillScaled(factor)));
    return new CostModel(scaled);
  }

  /** The cost of an engine before anything was learnt, that of a middling one when the name is unknown. */
  public EngineCost of(String engine) {
    return engines.getOrDefault(engine, unknown);
  }

  /** The cost of a deployment, as far as it has been learnt. */
  public EngineCost of(Deployment deployment) {
    Learning learnt = learning.get(deployment);
    return learnt == null ? of(deployment.engine()) : learnt.published;
  }

  /** The costs of a fleet, given what is deployed at each slot. */
  public FleetCosts of(List<Deployment> deployments) {
    return new FleetCosts(this, deployments);
  }

  /** Changes when a deployment's cost has changed notably, so that what was derived from it is no longer good. */
  public long version() {
    return version.get();
  }

  /** Has decisions reckon with these coefficients until something is learnt, as when past decisions are replayed. */
  public void assume(Deployment deployment, double msPerToken, double msPerPair) {
    EngineCost start = of(deployment.engine());
    Learning known = learning.computeIfAbsent(deployment, _ -> new Learning(start));
    if (known.published.msPerToken() != msPerToken || known.published.msPerPair() != msPerPair) {
      known.published = new EngineCost(msPerToken, msPerPair, start.msPerContextToken(), start.kvTokens());
      version.incrementAndGet();
    }
  }

  /** Learns from a prompt that a deployment has begun to answer; figures that cannot be true are left out. */
  public void observe(Deployment deployment, PrefillSample prefill) {
    Learning learnt = learning.get(deployment);
    if (learnt == null && learning.size() < MOST_FITS) {
      learnt = learning.computeIfAbsent(deployment, _ -> new Learning(of(deployment.engine())));
    }
    if (learnt != null && prefill.isPlausible() && learnt.observe(prefill)) {
      version.incrementAndGet();
    }
  }

  /** What has been learnt so far. */
  public Map<Deployment, LearntCost> learnt() {
    Map<Deployment, LearntCost> all = new HashMap<>();
    learning.forEach((deployment, one) -> all.put(deployment, one.fit.learnt()));
    return all;
  }

  /** Whether an engine's coefficients are known. */
  public boolean hasCoefficients(String engine) {
    return engines.containsKey(engine);
  }

  /** A fit, and the cost decisions reckon with. */
  private static final class Learning {
    private final CostFit fit;
    private volatile EngineCost published;

    Learning(EngineCost start) {
      this.fit = new CostFit(start);
      this.published = start;
    }

    /** Returns whether decisions have to reckon with something else from now on. */
    boolean observe(PrefillSample prefill) {
      fit.observe(prefill);
      EngineCost now = fit.learnt().cost();
      EngineCost before = published;
      boolean notable =
          isFar(now.msPerToken(), before.msPerToken()) || isFar(now.msPerPair(), before.msPerPair());
      if (notable) {
        published = now;
      }
      return notable;
    }

    private static boolean isFar(double now, double before) {
      return Math.abs(now - before) > NOTABLE * before;
    }
  }

  private double median(ToDoubleFunction<EngineCost> coefficient) {
    double[] sorted = engines.values().stream().distinct().mapToDouble(coefficient).toArray();
    Arrays.sort(sorted);
    return sorted[sorted.length / 2];
  }
}
