package io.kvasir.engines;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.vllm.ModelInfo;
import io.kvasir.vllm.ServerInfo;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Reads the pages of vLLM and of what acts as it: the labels of {@code vllm:cache_config_info}, {@link
 * VllmEventSources}, and the whole configuration at {@code /server_info} where {@code VLLM_SERVER_DEV_MODE=1} opens
 * that. What it answered over gRPC counts where these say nothing.
 */
final class VllmReader implements PageReader {
  private static final String DEV_MODE =
      "or start it with VLLM_SERVER_DEV_MODE=1, where only the router reaches it: /server_info then tells.";

  private final EngineKind kind;

  VllmReader(EngineKind kind) {
    this.kind = kind;
  }

  @Override
  public EngineDescription read(EnginePages pages, String metrics) {
    JsonNode config = pages.serverInfo().path("vllm_config");
    VllmEventSources sources = sources(pages);
    ServerInfo info = pages.control() == null ? null : pages.control().info();
    CacheDescription cache = cache(config, metrics, info, sources);
    EventPublishing events = events(pages, config, sources, cache.ranks());
    List<Unknown> unknowns = new ArrayList<>();
    if (pages.identity().version() == null) {
      unknowns.add(new Unknown("version", "It has no /version; what is particular to a version is not applied."));
    }
    if (cache.blockSize() == null) {
      unknowns.add(new Unknown("block size", "Do not start it with --disable-log-stats, so that its /metrics has"
          + " vllm:cache_config_info; or set models[].block-size as its --block-size" + orGrpc(pages) + "."));
    }
    if (cache.reportsCachedTokens() == null) {
      unknowns.add(new Unknown("usage of cached tokens", "One answer tells, or its command line:"
          + " --enable-prompt-tokens-details."));
    }
    if (events instanceof EventPublishing.Untold) {
      unknowns.add(new Unknown(Unknown.EVENTS, "Set events of the pod as its --kv-events-config has them, "
          + (kind == EngineKind.VLLM
              ? "or take vLLM 0.31 or later: its /kv_event_sources tells" + orGrpc(pages) + "."
              : "which it does not tell over HTTP.")));
    }
    if (!config.isObject()) {
      unknowns.add(new Unknown(Unknown.ROLE_AND_CONNECTOR, "Where it is for prefill or for decode only, set role of the"
          + " pod, and kv-transfer where its --kv-transfer-config has another connector than NixlConnector, "
          + (kind == EngineKind.VLLM ? DEV_MODE : "which it does not tell over HTTP.")));
    }
    return new EngineDescription(
        pages.url(), pages.identity(), models(pages, config), cache, events,
        new LoadPublishing.Untold(), transfer(config), unknowns);
  }

  private static @Nullable VllmEventSources sources(EnginePages pages) {
    JsonNode page = pages.page(EnginePage.EVENT_SOURCES);
    if (page.isObject()) {
      return VllmEventSources.of(pages.url(), page);
    }
    VllmControl.Answers control = pages.control();
    return control == null || control.sources() == null
        ? null
        : VllmEventSources.of(pages.url(), control.sources().getSourcesList());
  }

  /** What is to be said where nothing was asked over gRPC, or that was of no use. */
  private String orGrpc(EnginePages pages) {
    return kind != EngineKind.VLLM ? ""
        : pages.control() == null ? "; or, where it has a --grpc-port, give that as grpc-port"
        : "; its gRPC does not tell either";
  }

  private static List<ServedModel> models(EnginePages pages, JsonNode config) {
    String tokenizer = config.at("/model_config/tokenizer").textValue();
    VllmControl.Answers control = pages.control();
    ServerInfo info = control == null ? null : control.info();
    ModelInfo model = control == null ? null : control.model();
    Integer length = info == null ? null : count(Integer.toUnsignedLong(info.getMaxModelLen()));
    String root = model == null || model.getModelId().isEmpty() ? null : model.getModelId();
    return pages.servedModels().stream()
        .map(served -> served.withContextLength(length))
        .map(served -> served.isAdapter() ? served : served.withRoot(root).withTokenizer(tokenizer))
        .toList();
  }

  private static CacheDescription cache(
      JsonNode config, String metrics, @Nullable ServerInfo info, @Nullable VllmEventSources sources) {
    CacheDescription told = new CacheMetrics(metrics).cache();
    CacheDescription called = info == null ? CacheDescription.UNTOLD : cache(info);
    JsonNode own = config.path("cache_config");
    Integer ranks = EnginePages.count(config.at("/parallel_config/data_parallel_size"));
    return new CacheDescription(
        first(first(told.blockSize(), EnginePages.count(own.path("block_size"))), called.blockSize()),
        first(first(told.blocks(), EnginePages.count(own.path("num_gpu_blocks"))), called.blocks()),
        first(first(first(told.ranks(), ranks), called.ranks()), sources == null ? null : sources.count()),
        first(told.prefixCaching(), EnginePages.flag(own.path("enable_prefix_caching"))),
        first(told.hashAlgorithm(), own.path("prefix_caching_hash_algo").textValue()),
        null);
  }

  /** What the cache is by {@code Control.GetServerInfo}, whose blocks are those of all ranks behind the server. */
  private static CacheDescription cache(ServerInfo info) {
    Integer blockSize =
        first(count(info.getEffectiveAttentionBlockSize()), count(Integer.toUnsignedLong(info.getKvBlockSize())));
    Integer local = count(Integer.toUnsignedLong(info.getParallelism().getDataParallelSizeLocal()));
    Integer ranks = first(local, count(Integer.toUnsignedLong(info.getParallelism().getDataParallelSize())));
    return new CacheDescription(
        blockSize, count(info.getTotalKvBlocks() / (ranks == null ? 1 : ranks)), ranks, null, null, null);
  }

  /** A number of things, at least 1; null when it is none. */
  private static @Nullable Integer count(long number) {
    return number >= 1 && number <= Integer.MAX_VALUE ? Integer.valueOf((int) number) : null;
  }

  private static <T> @Nullable T first(@Nullable T told, @Nullable T otherwise) {
    return told == null ? otherwise : told;
  }

  private static EventPublishing events(
      EnginePages pages, JsonNode config, @Nullable VllmEventSources sources, @Nullable Integer ranks) {
    JsonNode own = config.path("kv_events_config");
    if (sources != null) {
      return sources.publishing(ranks == null ? 1 : ranks, own.path("endpoint").textValue());
    }
    if (!config.isObject()) {
      return new EventPublishing.Untold();
    }
    String endpoint = own.path("endpoint").asText("tcp://*:5557");
    if (!own.path("enable_kv_cache_events").asBoolean() || own.path("publisher").asText("zmq").equals("null")) {
      return new EventPublishing.Off();
    }
    if (endpoint.endsWith(":0")) {
      // Only /kv_event_sources names them.
      return new EventPublishing.UntoldPorts();
    }
    boolean connects = !PublishedEndpoint.vllmBinds(endpoint);
    String reached = connects ? endpoint : PublishedEndpoint.of(pages.url(), endpoint);
    return new EventPublishing.Zmq(
        String.valueOf(reached), PublishedEndpoint.of(pages.url(), own.path("replay_endpoint").textValue()),
        own.path("topic").asText(""), EnginePages.count(own.path("buffer_steps")), connects);
  }

  private static @Nullable TransferDescription transfer(JsonNode config) {
    JsonNode own = config.path("kv_transfer_config");
    String connector = own.path("kv_connector").textValue();
    if (connector == null) {
      return null;
    }
    TransferDescription.Role role = switch (own.path("kv_role").asText()) {
      case "kv_producer" -> TransferDescription.Role.PREFILL;
      case "kv_consumer" -> TransferDescription.Role.DECODE;
      default -> null;
    };
    for (JsonNode tier : own.at("/kv_connector_extra_config/secondary_tiers")) {
      if (tier.path("type").asText().equals("p2p")) {
        return new TransferDescription(TransferDescription.PEERS, role, EnginePages.count(tier.path("port")), null);
      }
    }
    return new TransferDescription(connector, role, null, own.path("engine_id").textValue());
  }
}
