package io.kvasir.sim;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.sim.http.SimHttpExchange;
import io.kvasir.sim.transfer.TransferDialect;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** The routes of vLLM's HTTP surface that concern the engine and not a generation. */
final class OperationsApi {
  private static final String PREFETCHES = "/cache/prefetches";
  private static final String VERSION = "0.32.0+kvasir.sim";

  private final SimSettings settings;
  private final RequestDispatcher dispatcher;
  private final List<EngineCore> ranks;
  private final EngineMetrics metrics;
  private final ControlApi controls;
  private final PrefetchApi prefetches;
  private final long startedAt = System.currentTimeMillis() / 1000;

  OperationsApi(SimSettings settings, RequestDispatcher dispatcher, List<EngineCore> ranks, EngineMetrics metrics,
      ControlApi controls) {
    this.settings = settings;
    this.dispatcher = dispatcher;
    this.ranks = ranks;
    this.metrics = metrics;
    this.controls = controls;
    this.prefetches = new PrefetchApi(dispatcher);
  }

  void get(SimHttpExchange exchange) throws IOException, EngineApiException {
    switch (exchange.path()) {
      case "/health", "/ping" -> {
        sleep(settings.http().healthDelay().toMillis());
        exchange.reply(200, "", new byte[0]);
      }
      case "/version" -> JsonReply.send(exchange, object().put("version", VERSION));
      case "/v1/models" -> JsonReply.send(exchange, models());
      case "/load" -> JsonReply.send(exchange, object().put("server_load", dispatcher.inFlight()));
      case "/metrics" -> {
        if (settings.kv().transfer().dialect() == TransferDialect.TENSORRT_LLM) {
          JsonReply.send(exchange, iterations());
        } else {
          exchange.reply(200, EngineMetrics.CONTENT_TYPE, metrics.text());
        }
      }
      case "/sim" -> JsonReply.send(exchange, controls.state());
      case "/server_info" -> JsonReply.send(exchange, serverInfo());
      default -> {
        if (!exchange.path().startsWith(PREFETCHES + "/")) {
          throw EngineApiException.notFound("Not Found", null);
        }
        JsonReply.send(exchange, prefetches.status(exchange.path().substring(PREFETCHES.length() + 1)));
      }
    }
  }

  void post(SimHttpExchange exchange) throws IOException, EngineApiException {
    switch (exchange.path()) {
      case "/reset_prefix_cache" -> {
        boolean cleared = true;
        for (EngineCore rank : ranks) {
          cleared &= rank.clear().join();
        }
        JsonReply.send(exchange, object().put("success", cleared));
      }
      case "/ping" -> exchange.reply(200, "", new byte[0]);
      case PREFETCHES -> JsonReply.send(exchange, prefetches.submit(RequestBody.parse(exchange.body())));
      case "/sim/faults", "/sim/conditions", "/sim/crash" ->
          JsonReply.send(exchange, controls.post(exchange.path(), RequestBody.parse(exchange.body())));
      default -> throw EngineApiException.notFound("Not Found", null);
    }
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
    model.put("id", name).put("object", "model").put("created", startedAt).put("owned_by", "vllm");
    model.put("root", name).put("parent", parent).put("max_model_len", settings.maxModelLen());
    ObjectNode permission = model.putArray("permission").addObject();
    permission.put("id", "modelperm-" + UUID.nameUUIDFromBytes(name.getBytes(StandardCharsets.UTF_8)));
    permission.put("object", "model_permission").put("created", startedAt);
    permission.put("allow_create_engine", false).put("allow_sampling", true).put("allow_logprobs", true);
    permission.put("allow_search_indices", false).put("allow_view", true).put("allow_fine_tuning", false);
    permission.put("organization", "*").putNull("group").put("is_blocking", false);
  }

  /** TensorRT-LLM's page is a list of iterations; this one has the last of each rank. */
  private JsonNode iterations() {
    ArrayNode all = JsonNodeFactory.instance.arrayNode();
    for (EngineCore rank : ranks) {
      ObjectNode one = all.addObject().put("numActiveRequests", rank.running());
      one.put("numQueuedRequests", rank.waiting()).put("maxNumActiveRequests", settings.engine().maxSequences());
      one.putObject("kvCacheStats")
          .put("maxNumBlocks", settings.engine().blocks())
          .put("usedNumBlocks", rank.usedBlocks())
          .put("freeNumBlocks", settings.engine().blocks() - rank.usedBlocks())
          .put("tokensPerBlock", settings.engine().blockSize());
    }
    return all;
  }

  private JsonNode serverInfo() {
    ObjectNode info = object();
    info.put("engine", settings.engine().coefficients()).put("role", settings.role().name().toLowerCase(Locale.ROOT));
    info.put("block_size", settings.engine().blockSize()).put("num_gpu_blocks", settings.engine().blocks());
    info.put("data_parallel_size", settings.engine().ranks()).put("speed", settings.engine().speed());
    return info;
  }

  private static ObjectNode object() {
    return JsonNodeFactory.instance.objectNode();
  }

  private static void sleep(long millis) {
    try {
      Thread.sleep(millis);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
