package io.kvasir.sim.operations;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.prompt.chat.EngineVersion;
import io.kvasir.prompt.chat.SglangVersion;
import io.kvasir.prompt.chat.TensorRtVersion;
import io.kvasir.prompt.chat.VllmVersion;
import io.kvasir.routing.Role;
import io.kvasir.sim.json.EngineApiException;
import io.kvasir.sim.settings.CachedTokensUsage;
import io.kvasir.sim.settings.EngineApi;
import io.kvasir.sim.settings.EventSettings;
import io.kvasir.sim.settings.SimSettings;
import io.kvasir.sim.transfer.TransferAgent;
import io.kvasir.sim.transfer.TransferDialect;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.UUID;
import java.util.function.IntUnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The pages on which an engine tells what it is: {@code /version}, {@code /v1/models}, {@code /server_info}, {@code
 * /kv_event_sources}, {@code /admin/config} and {@code /health}, each only where the engine that it acts as has it, or
 * has more there than a status. Immutable.
 */
public final class IdentityPages {
  private static final String VLLM_VERSION = "0.32.0+kvasir.sim";
  private static final String VLLM_RUST_VERSION = "0.30.0+kvasir.sim";
  static final String SGLANG_VERSION = "0.5.23+kvasir.sim";
  private static final int SGLANG_BOOTSTRAP_PORT = 8998;
  private static final String TENSORRT_VERSION = "1.3.0+kvasir.sim";

  private final SimSettings settings;
  private final EngineApi api;
  private final IntUnaryOperator eventsPort;
  private final IntUnaryOperator replayPort;
  private final int loadPort;
  private final TransferAgent transfer;
  private final long startedAt = System.currentTimeMillis() / 1000;

  /**
   * The pages of an engine.
   *
   * @param eventsPort each rank's, 0 without events or where the engine connects
   * @param replayPort each rank's, 0 without replay
   * @param loadPort the first rank's, 0 where load is not published
   * @param transfer has the port and the id that other engines use
   */
  public IdentityPages(
      SimSettings settings, IntUnaryOperator eventsPort, IntUnaryOperator replayPort, int loadPort,
      TransferAgent transfer) {
    this.settings = settings;
    this.api = settings.http().api();
    this.eventsPort = eventsPort;
    this.replayPort = replayPort;
    this.loadPort = loadPort;
    this.transfer = transfer;
  }

  JsonNode page(String path) throws EngineApiException {
    JsonNode page = switch (path) {
      case "/v1/models" -> models();
      case "/version" -> version();
      case "/server_info" -> serverInfo();
      case "/kv_event_sources" -> api == EngineApi.VLLM && !hasGrpc() ? eventSources() : null;
      case "/admin/config" -> api == EngineApi.LLM_D ? object().put("model", settings.model().name()) : null;
      case "/health" -> api == EngineApi.DYNAMO ? health() : null;
      default -> null;
    };
    if (page == null) {
      throw EngineApiException.noRoute();
    }
    return page;
  }

  private boolean hasGrpc() {
    return settings.http().grpcPort() != null;
  }

  /** The engine that it says it is, as which it prepares conversations. */
  public static EngineVersion engine(SimSettings settings) {
    return switch (settings.http().api()) {
      case VLLM -> VllmVersion.of(vllmVersion(settings));
      case SGLANG -> SglangVersion.of(SGLANG_VERSION, null);
      case TENSORRT_LLM -> TensorRtVersion.of(TENSORRT_VERSION);
      case LLM_D, DYNAMO -> VllmVersion.NEWEST;
    };
  }

  private static String vllmVersion(SimSettings settings) {
    return settings.http().grpcPort() == null ? VLLM_VERSION : VLLM_RUST_VERSION;
  }

  private @Nullable JsonNode version() {
    return switch (api) {
      case VLLM -> object().put("version", vllmVersion(settings));
      case TENSORRT_LLM -> object().put("version", TENSORRT_VERSION);
      case SGLANG, LLM_D, DYNAMO -> null;
    };
  }

  /** As Dynamo's {@code lib/llm/src/http/service/health.rs}. */
  private JsonNode health() {
    ObjectNode page = object().put("status", "healthy").put("message", "Service is healthy");
    page.put("initial_discovery_complete", true).putNull("initial_discovery_error");
    page.putArray("endpoints").add("dyn://dynamo.backend.generate");
    ArrayNode instances = page.putArray("instances");
    for (int rank = 0; rank < settings.engine().ranks(); rank++) {
      instances.addObject().put("namespace", "dynamo").put("component", "backend").put("endpoint", "generate")
          .put("instance_id", rank);
    }
    return page;
  }

  /** Gauges of models, as Dynamo's {@code lib/llm/src/http/service/metrics.rs}, which has names in small letters. */
  String frontendGauges() {
    StringBuilder page = new StringBuilder();
    gauge(page, "workers", settings.engine().ranks());
    gauge(page, "total_kv_blocks", settings.engine().blocks());
    gauge(page, "kv_cache_block_size", settings.engine().blockSize());
    gauge(page, "context_length", settings.maxModelLen());
    return page.toString();
  }

  private void gauge(StringBuilder page, String name, int value) {
    page.append("dynamo_frontend_model_").append(name).append("{model=\"")
        .append(settings.model().name().toLowerCase(Locale.ROOT)).append("\"} ").append(value).append('\n');
  }

  private JsonNode models() {
    ObjectNode answer = object().put("object", "list");
    ArrayNode data = answer.putArray("data");
    model(data, settings.model().name(), null);
    settings.model().loras().forEach(lora -> model(data, lora, settings.model().name()));
    return answer;
  }

  private void model(ArrayNode data, String name, @Nullable String parent) {
    ObjectNode model = data.addObject();
    model.put("id", name).put("object", "model").put("created", startedAt).put("owned_by", owner());
    if (api == EngineApi.TENSORRT_LLM) {
      return;
    }
    if (api == EngineApi.DYNAMO) {
      model.put("context_window", settings.maxModelLen());
      return;
    }
    model.put("root", parent == null ? settings.model().root() : name).put("parent", parent);
    if (api != EngineApi.LLM_D) {
      model.put("max_model_len", settings.maxModelLen());
    }
    if (api == EngineApi.SGLANG) {
      return;
    }
    ObjectNode permission = model.putArray("permission").addObject();
    permission.put("id", "modelperm-" + UUID.nameUUIDFromBytes(name.getBytes(StandardCharsets.UTF_8)));
    permission.put("object", "model_permission").put("created", startedAt);
    permission.put("allow_create_engine", false).put("allow_sampling", true).put("allow_logprobs", true);
    permission.put("allow_search_indices", false).put("allow_view", true).put("allow_fine_tuning", false);
    permission.put("organization", "*").putNull("group").put("is_blocking", false);
  }

  private String owner() {
    return switch (api) {
      case VLLM, LLM_D -> "vllm";
      case SGLANG -> "sglang";
      case TENSORRT_LLM -> "tensorrt_llm";
      case DYNAMO -> "nvidia";
    };
  }

  private @Nullable JsonNode serverInfo() {
    return switch (api) {
      case VLLM -> settings.http().developerMode() ? vllmConfig() : null;
      case SGLANG -> sglangInfo();
      case TENSORRT_LLM ->
          object().put("kv_cache_hash_algo", "v1_block_key").put("tokens_per_block", settings.engine().blockSize());
      case LLM_D, DYNAMO -> null;
    };
  }

  private JsonNode vllmConfig() {
    ObjectNode info = object();
    ObjectNode config = info.putObject("vllm_config");
    config.putObject("model_config").put("model", settings.model().root()).put("tokenizer", settings.model().root())
        .put("max_model_len", settings.maxModelLen());
    config.putObject("cache_config").put("block_size", settings.engine().blockSize())
        .put("num_gpu_blocks", settings.engine().blocks()).put("enable_prefix_caching", settings.kv().prefixCaching())
        .put("prefix_caching_hash_algo", "sha256_cbor");
    config.putObject("parallel_config").put("data_parallel_size", settings.engine().ranks());
    config.set("kv_events_config", eventsConfig());
    config.set("kv_transfer_config", transferConfig());
    return info;
  }

  /** As {@code --kv-events-config}; null without events. */
  private @Nullable ObjectNode eventsConfig() {
    EventSettings events = settings.kv().events();
    if (!events.enabled()) {
      return null;
    }
    String connect = events.pub().connect();
    ObjectNode config = object().put("enable_kv_cache_events", true).put("publisher", "zmq");
    config.put("endpoint", connect == null ? bound(eventsPort.applyAsInt(0)) : connect);
    config.put("replay_endpoint", replay(0));
    config.put("buffer_steps", events.replay().bufferSteps()).put("topic", events.topic());
    return config;
  }

  /** The configuration of each rank, with its own ports. */
  private JsonNode eventSources() {
    ObjectNode sources = object();
    String connect = settings.kv().events().pub().connect();
    for (int rank = 0; rank < settings.engine().ranks(); rank++) {
      ObjectNode config = eventsConfig();
      if (config != null) {
        if (connect == null) {
          config.put("endpoint", bound(eventsPort.applyAsInt(rank)));
        }
        config.put("replay_endpoint", replay(rank));
        config.put("hwm", 100_000).put("max_queue_size", 100_000);
        sources.set(String.valueOf(rank), config);
      }
    }
    return sources;
  }

  private @Nullable String replay(int rank) {
    int port = replayPort.applyAsInt(rank);
    return port == 0 ? null : bound(port);
  }

  /** The endpoint of a port on all interfaces. */
  static String bound(int port) {
    return "tcp://*:" + port;
  }

  private @Nullable ObjectNode transferConfig() {
    String connector = switch (settings.kv().transfer().dialect()) {
      case VLLM_NIXL, VLLM_NIXL_OLD -> "NixlConnector";
      case VLLM_PUSH -> "NixlPushConnector";
      case VLLM_MOONCAKE -> "MooncakeConnector";
      case VLLM_P2P -> "OffloadingConnector";
      case NONE, SGLANG, TENSORRT_LLM -> null;
    };
    if (connector == null) {
      return null;
    }
    ObjectNode config = object().put("kv_connector", connector).put("kv_role", switch (settings.role()) {
      case PREFILL -> "kv_producer";
      case DECODE -> "kv_consumer";
      case BOTH, ENCODE -> "kv_both";
    });
    config.put("engine_id", transfer.engineId());
    if (settings.kv().transfer().dialect() == TransferDialect.VLLM_P2P) {
      config.putObject("kv_connector_extra_config").put("spec_name", "TieringOffloadingSpec")
          .putArray("secondary_tiers").addObject().put("type", "p2p").put("port", transfer.port());
    }
    return config;
  }

  /** The arguments of its command line, and what became of them. */
  private JsonNode sglangInfo() {
    ObjectNode info = object();
    info.put("model_path", settings.model().root()).put("tokenizer_path", settings.model().root());
    info.put("served_model_name", settings.model().name());
    info.put("page_size", settings.engine().blockSize()).put("dp_size", settings.engine().ranks());
    info.put("context_length", settings.maxModelLen()).put("disable_radix_cache", !settings.kv().prefixCaching());
    info.put("max_total_num_tokens", settings.engine().blocks() * settings.engine().blockSize());
    info.put("enable_session_radix_cache", settings.kv().sessions());
    info.put("enable_cache_report", settings.cachedTokens() != CachedTokensUsage.NEVER).put("version", SGLANG_VERSION);
    info.put("disaggregation_mode", settings.role() == Role.PREFILL ? "prefill"
        : settings.role() == Role.DECODE ? "decode" : "null");
    info.put("disaggregation_transfer_backend", "mooncake")
        .put("disaggregation_bootstrap_port", transfer.port() == 0 ? SGLANG_BOOTSTRAP_PORT : transfer.port());
    ObjectNode config = eventsConfig();
    info.put("kv_events_config", config == null ? null : config.without("enable_kv_cache_events").toString());
    if (config == null) {
      info.putNull("kv_events");
    } else {
      ObjectNode resolved = info.putObject("kv_events").put("publisher", "zmq").put("endpoint_host", "*")
          .put("endpoint_port_base", eventsPort.applyAsInt(0)).put("topic", settings.kv().events().topic())
          .put("block_size", settings.engine().blockSize()).put("dp_size", settings.engine().ranks());
      if (loadPort != 0) {
        resolved.put("load_endpoint_port_base", loadPort).put("load_topic", LoadPublisher.TOPIC);
      }
    }
    return info;
  }

  private static ObjectNode object() {
    return JsonNodeFactory.instance.objectNode();
  }
}
