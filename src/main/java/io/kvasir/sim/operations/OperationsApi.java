package io.kvasir.sim.operations;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.sim.core.EngineCore;
import io.kvasir.sim.core.EngineMetrics;
import io.kvasir.sim.core.RequestDispatcher;
import io.kvasir.sim.http.SimHttpExchange;
import io.kvasir.sim.json.EngineApiException;
import io.kvasir.sim.json.JsonReply;
import io.kvasir.sim.json.RequestBody;
import io.kvasir.sim.settings.EngineApi;
import io.kvasir.sim.settings.SimSettings;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Set;

/** The routes of vLLM's HTTP surface that concern the engine and not a generation. */
public final class OperationsApi {
  private static final String PREFETCHES = "/cache/prefetches";

  private final SimSettings settings;
  private final RequestDispatcher dispatcher;
  private final List<EngineCore> ranks;
  private final EngineMetrics metrics;
  private final ControlApi controls;
  private final PrefetchApi prefetches;
  private final IdentityPages identity;

  /** The routes of an engine whose ranks these are. */
  public OperationsApi(SimSettings settings, RequestDispatcher dispatcher, List<EngineCore> ranks,
      EngineMetrics metrics, ControlApi controls, IdentityPages identity) {
    this.settings = settings;
    this.dispatcher = dispatcher;
    this.ranks = ranks;
    this.metrics = metrics;
    this.controls = controls;
    this.identity = identity;
    this.prefetches = new PrefetchApi(dispatcher);
  }

  /** Answers a {@code GET}. */
  public void get(SimHttpExchange exchange) throws IOException, EngineApiException {
    switch (exchange.path()) {
      case "/health", "/ping" -> {
        sleep(settings.http().healthDelay().toMillis());
        if (settings.http().api() == EngineApi.DYNAMO) {
          JsonReply.send(exchange, identity.page("/health"));
        } else if (ranks.stream().anyMatch(EngineCore::hasFailed)) {
          exchange.reply(503, "", new byte[0]);
        } else {
          exchange.reply(200, "", new byte[0]);
        }
      }
      case "/version", "/v1/models", "/server_info", "/kv_event_sources", "/admin/config" ->
          JsonReply.send(exchange, identity.page(exchange.path()));
      case "/load" -> JsonReply.send(exchange, object().put("server_load", dispatcher.inFlight()));
      case "/metrics" -> {
        switch (settings.http().api()) {
          case TENSORRT_LLM -> JsonReply.send(exchange, iterations());
          case DYNAMO -> exchange.reply(
              200, EngineMetrics.CONTENT_TYPE, identity.frontendGauges().getBytes(StandardCharsets.UTF_8));
          case VLLM, SGLANG, LLM_D -> exchange.reply(200, EngineMetrics.CONTENT_TYPE, metrics.text());
        }
      }
      case "/metrics/" -> {
        switch (settings.http().api()) {
          case VLLM, SGLANG -> {
            Set<String> only = Set.copyOf(exchange.queryValues("name[]"));
            exchange.reply(200, EngineMetrics.CONTENT_TYPE, only.isEmpty() ? metrics.text() : metrics.text(only));
          }
          case TENSORRT_LLM, LLM_D, DYNAMO -> throw EngineApiException.noRoute();
        }
      }
      case "/v1/loads" -> {
        if (settings.http().api() != EngineApi.SGLANG) {
          throw EngineApiException.noRoute();
        }
        if (exchange.queryValues("format").contains("prometheus")) {
          byte[] page = RankLoads.gauges(ranks, settings.engine()).getBytes(StandardCharsets.UTF_8);
          exchange.reply(200, EngineMetrics.CONTENT_TYPE, page);
        } else {
          JsonReply.send(exchange, RankLoads.json(ranks, settings.engine()));
        }
      }
      case "/sim" -> JsonReply.send(exchange, controls.state());
      default -> {
        if (!exchange.path().startsWith(PREFETCHES + "/")) {
          throw EngineApiException.noRoute();
        }
        JsonReply.send(exchange, prefetches.status(exchange.path().substring(PREFETCHES.length() + 1)));
      }
    }
  }

  /** Answers a {@code POST}. */
  public void post(SimHttpExchange exchange) throws IOException, EngineApiException {
    switch (exchange.path()) {
      case "/reset_prefix_cache" -> {
        boolean cleared = true;
        for (EngineCore rank : ranks) {
          cleared &= rank.clear().join();
        }
        JsonReply.send(exchange, object().put("success", cleared));
      }
      case "/close_session" -> {
        if (settings.http().api() != EngineApi.SGLANG) {
          throw EngineApiException.noRoute();
        }
        String session = RequestBody.parse(exchange.body()).text("session_id");
        if (session == null) {
          throw EngineApiException.missing("session_id");
        }
        ranks.forEach(rank -> rank.endSession(session));
        exchange.reply(200, "", new byte[0]);
      }
      case "/ping" -> exchange.reply(200, "", new byte[0]);
      case PREFETCHES -> JsonReply.send(exchange, prefetches.submit(RequestBody.parse(exchange.body())));
      case "/sim/faults", "/sim/conditions", "/sim/crash" ->
          JsonReply.send(exchange, controls.post(exchange.path(), RequestBody.parse(exchange.body())));
      default -> throw EngineApiException.noRoute();
    }
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
