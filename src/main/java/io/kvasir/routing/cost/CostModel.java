package io.kvasir.routing.cost;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import com.typesafe.config.ConfigParseOptions;
import com.typesafe.config.ConfigUtil;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToDoubleFunction;

/**
 * The cost of every engine, by name. Names not in the table get the median of those that are: the order of
 * magnitude of a mid-sized model on a current accelerator, which ranks workers of one kind as well as exact
 * figures would (they share it) and only misjudges how much queueing a cache hit is worth.
 *
 * <p>Immutable and thread-safe.
 */
public final class CostModel {
  private final Map<String, EngineCost> engines;
  private final EngineCost unknown;

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

  /** The cost of an engine, that of a middling one when the name is unknown. */
  public EngineCost of(String engine) {
    return engines.getOrDefault(engine, unknown);
  }

  /** The costs of a fleet, given the name of the engine at each slot. */
  public FleetCosts of(List<String> engines) {
    return new FleetCosts(this, engines);
  }

  /** Whether an engine's coefficients are known. */
  public boolean knows(String engine) {
    return engines.containsKey(engine);
  }

  private double median(ToDoubleFunction<EngineCost> coefficient) {
    double[] sorted = engines.values().stream().distinct().mapToDouble(coefficient).toArray();
    Arrays.sort(sorted);
    return sorted[sorted.length / 2];
  }
}
