package io.kvasir.engines;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.MissingNode;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Reads SGLang's pages: {@code /server_info} has every argument of its command line, and since May 2026 the resolved
 * {@code kv_events} (SGLang, {@code describe_kv_events_publisher} in {@code python/sglang/srt/runtime_context.py}).
 */
final class SglangReader implements PageReader {
  private static final JsonMapper JSON = new JsonMapper();

  @Override
  public EngineDescription read(EnginePages pages, String metrics) {
    JsonNode info = pages.serverInfo();
    EventPublishing events = events(pages);
    List<Unknown> unknowns = new ArrayList<>();
    if (!info.isObject()) {
      unknowns.add(new Unknown("block size, ranks, role and cache events", "Let the router reach its /server_info; or"
          + " set block-size, ranks, role and events of the pod in the router's configuration."));
    } else if (events instanceof EventPublishing.Untold) {
      unknowns.add(new Unknown(Unknown.EVENTS, "Its /server_info has no kv_events, as before May 2026: set events of"
          + " the pod as its --kv-events-config has them."));
    }
    return new EngineDescription(
        pages.url(), pages.identity(), models(pages), cache(info), events,
        SglangLoad.publishing(pages.url(), info), transfer(info), unknowns);
  }

  private static List<ServedModel> models(EnginePages pages) {
    String tokenizer = pages.serverInfo().path("tokenizer_path").textValue();
    String root = pages.serverInfo().path("model_path").textValue();
    return pages.servedModels().stream()
        .map(model -> model.isAdapter()
            ? model
            : new ServedModel(
                model.name(), root == null ? model.root() : root, null, model.contextLength(), tokenizer))
        .toList();
  }

  private static CacheDescription cache(JsonNode info) {
    Integer blockSize = EnginePages.count(info.at("/kv_events/block_size"));
    if (blockSize == null) {
      blockSize = EnginePages.count(info.path("page_size"));
    }
    Integer tokens = EnginePages.count(info.path("max_total_num_tokens"));
    Boolean off = EnginePages.flag(info.path("disable_radix_cache"));
    return new CacheDescription(
        blockSize,
        tokens == null || blockSize == null ? null : tokens / blockSize,
        ranks(info),
        off == null ? null : !off,
        null,
        EnginePages.flag(info.path("enable_cache_report")),
        EnginePages.flag(info.path("enable_session_radix_cache")));
  }

  /**
   * Its data-parallel ranks: replicas, or groups of attention, which newer versions count by themselves, also where
   * they were started with {@code --dp-size} and {@code --enable-dp-attention}.
   */
  private static @Nullable Integer ranks(JsonNode info) {
    Integer publishers = EnginePages.count(info.at("/kv_events/dp_size"));
    if (publishers != null) {
      return publishers;
    }
    Integer replicas = EnginePages.count(info.path("dp_size"));
    Integer groups = EnginePages.count(info.path("attn_dp_size"));
    return replicas == null || groups == null ? replicas : Integer.valueOf(replicas * groups);
  }

  private static EventPublishing events(EnginePages pages) {
    JsonNode info = pages.serverInfo();
    JsonNode resolved = info.path("kv_events");
    // Older versions tell where replay is only by the argument, which is a text of JSON.
    JsonNode argument = argument(info.path("kv_events_config"));
    if (resolved.isNull() || (!resolved.isObject() && info.path("kv_events_config").isNull())) {
      return new EventPublishing.Off();
    }
    Integer port = EnginePages.count(resolved.path("endpoint_port_base"));
    if (port == null || !resolved.path("publisher").asText("zmq").equals("zmq")) {
      return new EventPublishing.Untold();
    }
    String host = "tcp://" + resolved.path("endpoint_host").asText("*") + ":";
    Integer replayPort = EnginePages.count(resolved.path("replay_endpoint_port_base"));
    String replay = replayPort == null ? argument.path("replay_endpoint").textValue() : host + replayPort;
    return new EventPublishing.Zmq(
        String.valueOf(PublishedEndpoint.of(pages.url(), host + port)),
        PublishedEndpoint.of(pages.url(), replay),
        resolved.path("topic").asText(""),
        EnginePages.count(argument.path("buffer_steps")),
        false);
  }

  private static JsonNode argument(JsonNode text) {
    try {
      return text.isTextual() ? JSON.readTree(text.textValue()) : MissingNode.getInstance();
    } catch (JsonProcessingException malformed) {
      return MissingNode.getInstance();
    }
  }

  private static @Nullable TransferDescription transfer(JsonNode info) {
    TransferDescription.Role role = switch (info.path("disaggregation_mode").asText()) {
      case "prefill" -> TransferDescription.Role.PREFILL;
      case "decode" -> TransferDescription.Role.DECODE;
      default -> null;
    };
    return role == null
        ? null
        : new TransferDescription(
            info.path("disaggregation_transfer_backend").asText("mooncake"), role,
            EnginePages.count(info.path("disaggregation_bootstrap_port")), null);
  }
}
