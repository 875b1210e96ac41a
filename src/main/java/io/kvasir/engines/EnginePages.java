package io.kvasir.engines;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The pages of one engine as they came; what is alike for all kinds of engine is read from them here, what is a kind's
 * own by its {@link PageReader}.
 *
 * @param url the engine's base URL
 * @param models {@code /v1/models}
 * @param others those of JSON that it has beside that, of those that it was asked for
 * @param control what it answered over gRPC; null where it was not asked
 */
record EnginePages(
    URI url, JsonNode models, Map<EnginePage, JsonNode> others, VllmControl.@Nullable Answers control) {
  /** Copies the map. */
  EnginePages {
    others = Map.copyOf(others);
  }

  /** The same with what it answered over gRPC. */
  EnginePages with(VllmControl.Answers answers) {
    return new EnginePages(url, models, others, answers);
  }

  /** A page; a missing node where the engine does not have it. */
  JsonNode page(EnginePage page) {
    return others.getOrDefault(page, MissingNode.getInstance());
  }

  JsonNode serverInfo() {
    return page(EnginePage.SERVER_INFO);
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
    return new EngineIdentity(
        kind(), versionText(), serverInfo().path("reasoning_parser").textValue(),
        page(EnginePage.SIMULATION).isObject(), others.keySet());
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
        // The second is what its frontend in Rust called itself at first.
        case "vllm", "vllm-frontend-rs" -> {
          // vLLM itself has had /version from its first release with this API.
          return page(EnginePage.ADMIN_CONFIG).isObject() || page(EnginePage.VERSION).isMissingNode()
              ? EngineKind.LLM_D_SIMULATOR
              : EngineKind.VLLM;
        }
        case "nvidia" -> {
          JsonNode health = page(EnginePage.HEALTH);
          if (health.path("instances").isArray() || health.has("initial_discovery_complete")) {
            return EngineKind.DYNAMO;
          }
        }
        default -> {
          // A name that its operator chose, or a proxy's.
        }
      }
    }
    JsonNode serverInfo = serverInfo();
    if (serverInfo.has("disaggregation_mode") || serverInfo.has("radix_eviction_policy")) {
      return EngineKind.SGLANG;
    }
    if (serverInfo.has("kv_cache_hash_algo")) {
      return EngineKind.TENSORRT_LLM;
    }
    return serverInfo.has("vllm_config") ? EngineKind.VLLM : EngineKind.UNKNOWN;
  }

  private @Nullable String versionText() {
    String own = page(EnginePage.VERSION).path("version").textValue();
    return own == null ? serverInfo().path("version").textValue() : own;
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
