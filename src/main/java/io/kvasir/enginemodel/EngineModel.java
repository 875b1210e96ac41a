package io.kvasir.enginemodel;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.routing.cost.CostModel;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * An engine model: the speed and KV cache of one LLM on one kind of machine.
 *
 * @param name GPU, model and tensor parallelism, such as {@code h100-Llama-3.1-8B-tp1}
 * @param stepTime the time of an iteration
 * @param kvTokens tokens the KV cache holds
 * @param kvBytesPerToken bytes a token's keys and values take, all layers
 */
public record EngineModel(String name, StepTime stepTime, int kvTokens, int kvBytesPerToken) {
  /** Beside the router's cost model, which reads it, too. */
  private static final String RESOURCE = "engine_coefficients.json";

  /** The names of the bundled models. */
  public static Set<String> names() {
    return Bundled.MODELS.keySet();
  }

  /**
   * A bundled model.
   *
   * @throws IllegalArgumentException when {@code name} is none of {@link #names()}
   */
  public static EngineModel named(String name) {
    EngineModel model = Bundled.MODELS.get(name);
    if (model == null) {
      throw new IllegalArgumentException("'" + name + "' is not one of " + String.join(", ", names()));
    }
    return model;
  }

  private static final class Bundled {
    static final SortedMap<String, EngineModel> MODELS = Collections.unmodifiableSortedMap(read());

    private static SortedMap<String, EngineModel> read() {
      try (InputStream in = CostModel.class.getResourceAsStream(RESOURCE)) {
        if (in == null) {
          throw new IllegalStateException("The resource " + RESOURCE + " is missing from the jar");
        }
        SortedMap<String, EngineModel> models = new TreeMap<>();
        new ObjectMapper().readTree(in).properties().forEach(entry -> put(models, entry.getKey(), entry.getValue()));
        return models;
      } catch (IOException e) {
        throw new UncheckedIOException("The resource " + RESOURCE + " cannot be read", e);
      }
    }

    /** Adds a row, which may hold for several LLMs of one shape: under its name and under that of each. */
    private static void put(SortedMap<String, EngineModel> models, String name, JsonNode row) {
      String shared = row.path("model").asText();
      models.put(name, model(name, row));
      for (String model : List.of(shared.split("/", -1))) {
        String own = name.replace(shared, model);
        models.put(own, model(own, row));
      }
    }

    private static EngineModel model(String name, JsonNode row) {
      StepTime stepTime =
          new StepTime(
              number(row, "t_weight_ms"),
              number(row, "n_knee_tokens"),
              number(row, "c_tok_us"),
              number(row, "c_attn_prefill_ns_per_qctx"),
              number(row, "c_dec_ctx_us_per_1k"),
              number(row, "c_dec_seq_us"),
              number(row, "step_overhead_ms"),
              number(row, "step_overhead_per_seq_us"));
      return new EngineModel(
          name, stepTime, (int) number(row, "kv_capacity_tokens_est"), (int) number(row, "kv_bytes_per_token"));
    }

    private static double number(JsonNode row, String field) {
      JsonNode value = row.get(field);
      if (value == null || !value.isNumber()) {
        throw new IllegalStateException(RESOURCE + ": " + field + " is missing");
      }
      return value.asDouble();
    }
  }
}
