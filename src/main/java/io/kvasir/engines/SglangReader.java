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
final class SglangReader implements DescriptionReader {
  private static final JsonMapper JSON = new JsonMapper();

  @Override
  public EngineDescription read(EngineAnswers answers, String metrics) {
    JsonNode info = answers.serverInfo();
    EventPublishing events = events(answers);
    List<Unknown> unknowns = new ArrayList<>();
    if (!info.isObject()) {
      unknowns.add(new Unknown("block size, ranks, role and cache events", "Let the router reach its /server_info; or"
          + " set block-size, ranks, role and events of the pod in the router's configuration."));
    } else if (events instanceof EventPublishing.Untold) {
      unknowns.add(new Unknown(Unknown.EVENTS, "Its /server_info has no kv_events, as before May 2026: set events of"
          + " the pod as its --kv-events-config has them."));
    }
    return new EngineDescription(
        answers.url(), answers.identity(), models(answers), cache(info), events,
        SglangLoad.publishing(answers.url(), info), transfer(info), unknowns);
  }

  private static List<ServedModel> models(EngineAnswers answers) {
    String tokenizer = answers.serverInfo().path("tokenizer_path").textValue();
    String root = answers.serverInfo().path("model_path").textValue();
    return answers.servedModels().stream()
        .map(model -> model.isAdapter()
            ? model
            : new ServedModel(
                model.name(), root == null ? model.root() : root, null, model.contextLength(), tokenizer))
        .toList();
  }

  private static CacheDescription cache(JsonNode info) {
    Integer blockSize = EngineAnswers.count(info.at("/kv_events/block_size"));
    if (blockSize == null) {
      blockSize = EngineAnswers.count(info.path("page_size"));
    }
    Integer tokens = EngineAnswers.count(info.path("max_total_num_tokens"));
    Boolean off = EngineAnswers.flag(info.path("disable_radix_cache"));
    return new CacheDescription(
        blockSize,
        tokens == null || blockSize == null ? null : tokens / blockSize,
        ranks(info),
        off == null ? null : !off,
        null,
        EngineAnswers.flag(info.path("enable_cache_report")),
        EngineAnswers.flag(info.path("enable_session_radix_cache")));
  }

  /**
   * Its data-parallel ranks: replicas, or groups of attention, which newer versions count by themselves, also where
   * they were started with {@code --dp-size} and {@code --enable-dp-attention}.
   */
  private static @Nullable Integer ranks(JsonNode info) {
    Integer publishers = EngineAnswers.count(info.at("/kv_events/dp_size"));
    if (publishers != null) {
      return publishers;
    }
    Integer replicas = EngineAnswers.count(info.path("dp_size"));
    Integer groups = EngineAnswers.count(info.path("attn_dp_size"));
    return replicas == null || groups == null ? replicas : Integer.valueOf(replicas * groups);
  }

  private static EventPublishing events(EngineAnswers answers) {
    JsonNode info = answers.serverInfo();
    JsonNode resolved = info.path("kv_events");
    // Older versions tell where replay is only by the argument, which is a text of JSON.
    JsonNode argument = argument(info.path("kv_events_config"));
    if (resolved.isNull() || (!resolved.isObject() && info.path("kv_events_config").isNull())) {
      return new EventPublishing.Off();
    }
    Integer port = EngineAnswers.count(resolved.path("endpoint_port_base"));
    if (port == null || !resolved.path("publisher").asText("zmq").equals("zmq")) {
      return new EventPublishing.Untold();
    }
    String host = "tcp://" + resolved.path("endpoint_host").asText("*") + ":";
    Integer replayPort = EngineAnswers.count(resolved.path("replay_endpoint_port_base"));
    String replay = replayPort == null ? argument.path("replay_endpoint").textValue() : host + replayPort;
    return new EventPublishing.Zmq(
        String.valueOf(PublishedEndpoint.of(answers.url(), host + port)),
        PublishedEndpoint.of(answers.url(), replay),
        resolved.path("topic").asText(""),
        EngineAnswers.count(argument.path("buffer_steps")),
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
            EngineAnswers.count(info.path("disaggregation_bootstrap_port")), null);
  }
}
