package io.kvasir.engines;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The pages of one engine. JSON that the engine does not have is a missing node.
 *
 * @param url the engine's base URL
 * @param models {@code /v1/models}
 * @param version {@code /version}
 * @param serverInfo {@code /server_info}
 * @param eventSources {@code /kv_event_sources}, which vLLM has since 0.31 at the latest
 * @param adminConfig {@code /admin/config}, which only llm-d's simulator has
 * @param simulation {@code /sim}, which only Kvasir's simulated engine has
 * @param health {@code /health} of what may be a frontend of Dynamo; others are not asked, for SGLang generates then
 */
record EngineAnswers(
    URI url, JsonNode models, JsonNode version, JsonNode serverInfo, JsonNode eventSources, JsonNode adminConfig,
    JsonNode simulation, JsonNode health) {
  private static final JsonNode NONE = MissingNode.getInstance();

  /** What is enough to tell most kinds of engines. */
  EngineAnswers(URI url, JsonNode models, JsonNode version) {
    this(url, models, version, NONE, NONE, NONE, NONE, NONE);
  }

  /** The same, with the page of health. */
  EngineAnswers withHealth(JsonNode page) {
    return new EngineAnswers(url, models, version, serverInfo, eventSources, adminConfig, simulation, page);
  }

  /** Whether its models are owned as those of Dynamo's frontend, and of other products of its maker. */
  boolean mayBeDynamo() {
    for (JsonNode model : models.path("data")) {
      if (model.path("owned_by").asText().equals("nvidia")) {
        return true;
      }
    }
    return false;
  }

  EngineIdentity identity() {
    return new EngineIdentity(kind(), versionText(), simulation.isObject());
  }

  private EngineKind kind() {
    for (JsonNode model : models.path("data")) {
      switch (model.path("owned_by").asText()) {
        case "sglang" -> {
          return EngineKind.SGLANG;
        }
        case "tensorrt_llm" -> {
          return EngineKind.TENSORRT_LLM;
        }
        case "llamacpp" -> {
          return EngineKind.LLAMA_CPP;
        }
        case "vllm" -> {
          // vLLM itself has had /version from its first release with this API.
          return adminConfig.isObject() || version.isMissingNode() ? EngineKind.LLM_D_SIMULATOR : EngineKind.VLLM;
        }
        case "nvidia" -> {
          if (health.path("instances").isArray() || health.has("initial_discovery_complete")) {
            return EngineKind.DYNAMO;
          }
        }
        default -> {
          // A name that its operator chose, or a proxy's.
        }
      }
    }
    if (serverInfo.has("disaggregation_mode") || serverInfo.has("radix_eviction_policy")) {
      return EngineKind.SGLANG;
    }
    if (serverInfo.has("kv_cache_hash_algo")) {
      return EngineKind.TENSORRT_LLM;
    }
    return serverInfo.has("vllm_config") ? EngineKind.VLLM : EngineKind.UNKNOWN;
  }

  private @Nullable String versionText() {
    String own = version.path("version").textValue();
    return own == null ? serverInfo.path("version").textValue() : own;
  }

  /** The models first, the LoRA adapters after them; what is too many is left out. */
  List<ServedModel> servedModels() {
    List<ServedModel> base = new ArrayList<>();
    List<ServedModel> adapters = new ArrayList<>();
    for (JsonNode model : models.path("data")) {
      String name = model.path("id").textValue();
      if (name != null) {
        ServedModel served =
            new ServedModel(
                name, model.path("root").textValue(), model.path("parent").textValue(),
                count(model.path("max_model_len")), null);
        (served.isAdapter() ? adapters : base).add(served);
      }
    }
    base.addAll(adapters);
    return base.size() > EngineDescription.MAX_MODELS ? base.subList(0, EngineDescription.MAX_MODELS) : base;
  }

  /** A number of things, at least 1; null when it is none. */
  static @Nullable Integer count(JsonNode number) {
    return number.isIntegralNumber() && number.canConvertToInt() && number.intValue() > 0 ? number.intValue() : null;
  }

  /** A truth value, null when it is none. */
  static @Nullable Boolean flag(JsonNode value) {
    return value.isBoolean() ? value.booleanValue() : null;
  }
}
