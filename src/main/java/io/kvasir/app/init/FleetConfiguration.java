package io.kvasir.app.init;

import com.typesafe.config.ConfigFactory;
import io.kvasir.app.config.ConfigException;
import io.kvasir.app.config.HoconText;
import io.kvasir.app.config.KvasirConfig;
import io.kvasir.app.node.StartException;
import io.kvasir.engines.CacheDescription;
import io.kvasir.engines.EngineDescription;
import io.kvasir.engines.EngineKind;
import io.kvasir.engines.EventOrigin;
import io.kvasir.engines.EventPublishing;
import io.kvasir.engines.KvHandover;
import io.kvasir.engines.ModelSearch;
import io.kvasir.engines.TransferDescription;
import io.kvasir.engines.TransferDescription.Role;
import io.kvasir.engines.Unknown;
import io.kvasir.gateway.admin.PodDefaults;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The configuration of a router for a fleet of engines, each value with where it was learnt. */
final class FleetConfiguration {
  private final List<FleetEngine> engines;
  private final List<FleetModel> models;
  private final @Nullable Path keyFile;
  private final @Nullable Path clientKeys;
  private final HoconText text = new HoconText();

  private FleetConfiguration(
      List<FleetEngine> engines, List<FleetModel> models, @Nullable Path keyFile, @Nullable Path clientKeys) {
    this.engines = engines;
    this.models = models;
    this.keyFile = keyFile;
    this.clientKeys = clientKeys;
  }

  /**
   * Writes the configuration, which is valid.
   *
   * @param keyFile the file with the engines' API key, null without one
   * @param clientKeys the file with the clients' keys, null without one
   * @throws StartException when no router can serve these engines together; the message says what to change
   */
  static LearntConfiguration of(
      List<FleetEngine> engines, ModelSearch files, @Nullable Path keyFile, @Nullable Path clientKeys)
      throws StartException, ConfigException {
    FleetConfiguration fleet = new FleetConfiguration(engines, FleetModel.of(engines, files), keyFile, clientKeys);
    fleet.requireBothRoles();
    String text = fleet.written();
    KvasirConfig _ = KvasirConfig.of(ConfigFactory.parseString(text));
    return new LearntConfiguration(text, engines.stream().map(fleet::summary).toList());
  }

  private void requireBothRoles() throws StartException {
    List<String> alone = new ArrayList<>();
    for (FleetEngine engine : engines) {
      KvHandover.of(engine.surveyed()).filter(own -> !hasPartner(engine, own)).ifPresent(own -> alone.add(
          "%s does %s only, and none of the others does the rest for it by %s; give both kinds of engines".formatted(
              engine.description().url(), own.role() == Role.PREFILL ? "prefill" : "decode",
              own.transfer().connector())));
    }
    if (!alone.isEmpty()) {
      throw new StartException(String.join("\n  ", alone));
    }
  }

  private boolean hasPartner(FleetEngine engine, KvHandover own) {
    Set<String> served = Set.copyOf(engine.surveyed().modelNames());
    return engines.stream()
        .filter(other -> other.surveyed().modelNames().stream().anyMatch(served::contains))
        .flatMap(other -> KvHandover.of(other.surveyed()).stream())
        .anyMatch(other -> other.role() != own.role() && other.dialect().equals(own.dialect()));
  }

  private String written() {
    text.comment("What these engines told \"kvasir init\". All settings, with the reasons for their defaults, are in"
        + " conf/defaults.");
    for (FleetEngine engine : engines) {
      text.comment("  " + engine.name() + "  " + engine.description().url() + "  " + engine.description().identity());
    }
    text.open("kvasir {");
    if (clientKeys == null) {
      text.comment("Without keys the gateway serves this machine only. \"kvasir keys create NAME --tenant NAME --file"
          + " keys.json\" makes one.");
      text.suggestion("access.keys-file = \"keys.json\"").blank();
    } else {
      text.comment("Clients show one of these keys, from any machine.");
      text.value("access.keys-file", clientKeys.toString()).blank();
    }
    if (engines.stream().anyMatch(engine -> KvHandover.of(engine.surveyed()).isPresent())) {
      text.comment("Some of the engines read prompts, others generate.");
      text.choice("routing.profile", "prefill-decode").blank();
    }
    if (keyFile != null) {
      text.comment("The key that the engines ask for.");
      text.value("pod-defaults.api-key-file", keyFile.toString()).blank();
    }
    text.open("models = [");
    models.forEach(this::model);
    text.close("]").blank();
    text.open("pods = [");
    engines.forEach(this::pod);
    text.close("]");
    return text.close("}").toString();
  }

  private void model(FleetModel model) {
    if (model.files() == null && model.tokenizers().isEmpty()) {
      text.comment(model.name() + ": its tokenizer is not on this machine, and no engine tokenises conversations"
          + " (/tokenize), so prompts are compared by their text, which engines' events do not describe. With its"
          + " Hugging Face files:");
      text.suggestion("{ name = \"" + model.name() + "\", directory = \"/models/" + model.name() + "\" }");
      return;
    }
    text.open("{");
    text.value("name", model.name());
    if (model.files() != null) {
      text.comment("Its tokenizer and chat template: " + model.files().how() + ".");
      text.value("directory", model.files().directory());
    } else {
      text.comment("Its tokenizer is not on this machine: " + model.tokenizers().getFirst() + " is asked to tokenise"
          + " each prompt. With the model's Hugging Face files the router does it, in a fraction of the time:");
      text.suggestion("directory = \"/models/" + model.name() + "\"");
      text.choice("mode", "engine");
    }
    if (model.blockSize() == null) {
      text.comment("Not told: block size. It has to be the engines'; the log says when it is not.");
      text.suggestion("block-size = 16");
    } else {
      text.comment("Tokens in a KV block, the smallest of the engines': told by them, at /metrics or /server_info, or"
          + " over gRPC.");
      text.value("block-size", model.blockSize());
    }
    if (!model.adapters().isEmpty()) {
      text.comment("LoRA adapters: told by /v1/models.");
      text.values("loras", model.adapters());
    }
    text.close("}");
  }

  private void pod(FleetEngine engine) {
    EngineDescription description = engine.description();
    text.open("{");
    text.comment(description.identity() + ", as it says.");
    text.value("name", engine.name());
    text.value("url", description.url().toString());
    text.comment("Told by /v1/models.");
    text.values("models", engine.surveyed().modelNames());
    cache(engine);
    handover(engine);
    events(engine);
    text.comment("Load: " + engine.load().words());
    for (Unknown unknown : description.unknowns()) {
      if (!isConfigured(unknown)) {
        text.comment("Not told: " + unknown.what() + ". " + unknown.remedy());
      }
    }
    text.close("}");
  }

  private void cache(FleetEngine engine) {
    CacheDescription cache = engine.description().cache();
    String where = cacheOrigin(engine.description().identity().kind()) + overGrpc(engine, ", or over gRPC");
    if (engine.surveyed().ranks() > 1) {
      text.comment("Data-parallel ranks: told by " + where + ".");
      text.value("ranks", engine.surveyed().ranks());
    }
    if (cache.blockSize() != null && models.stream().anyMatch(model -> isCut(model, engine))) {
      text.comment("Tokens in a KV block, which is cut as its model's prompts are: told by " + where + ".");
      text.value("block-size", cache.blockSize());
    }
    if (cache.blocks() != null) {
      text.comment("Blocks that a rank has room for: told by " + where + ".");
      text.value("capacity-blocks", Math.clamp(cache.blocks(), 1, PodDefaults.MOST_CAPACITY));
    }
    if (Boolean.TRUE.equals(cache.retainsSessions())) {
      text.comment("It evicts what sessions have used after all else: programs' turns are sent as one's, see Agents in"
          + " conf/README.md.");
      text.choice("retention", "sglang");
    }
    if (Boolean.FALSE.equals(cache.prefixCaching())) {
      text.comment("Its prefix caching is off, so that no prompt can be answered from its cache: start it with"
          + " --enable-prefix-caching (SGLang: without --disable-radix-cache).");
    }
    if (Boolean.FALSE.equals(cache.reportsCachedTokens())) {
      text.comment("It does not report the tokens that it found in its cache: start it with"
          + " --enable-prompt-tokens-details (SGLang: --enable-cache-report).");
    }
  }

  private static boolean isCut(FleetModel model, FleetEngine engine) {
    return engine.surveyed().modelNames().contains(model.name())
        && !Objects.equals(model.blockSize(), engine.description().cache().blockSize());
  }

  private void handover(FleetEngine engine) {
    Optional<KvHandover> known = KvHandover.of(engine.surveyed());
    TransferDescription told = engine.description().transfer();
    if (known.isPresent()) {
      text.comment("Role and connector, as they were given or told by its configuration.");
      handover(known.get());
    } else if (told != null && told.connector().equals(TransferDescription.PEERS)) {
      text.comment("Its offloading has a tier of peers, as its configuration told: workers take from each other what"
          + " costs less than to compute it. Each engine needs the address at which others reach it"
          + " (VLLM_P2P_SIDE_CHANNEL_HOST), and all one PYTHONHASHSEED.");
      text.open("kv-transfer {");
      text.choice("dialect", "vllm-p2p");
      if (told.bootstrapPort() != null) {
        text.value("bootstrap-port", told.bootstrapPort());
      }
      text.close("}");
    } else if (told != null) {
      text.comment("Its connector is " + told.connector() + ". Where it is for prefill or for decode only, say so:");
      text.suggestion("role = prefill, kv-transfer.dialect = vllm-nixl");
    }
  }

  private void handover(KvHandover handover) {
    TransferDescription told = handover.transfer();
    text.choice("role", handover.role().label());
    text.open("kv-transfer {");
    text.choice("dialect", handover.dialect());
    if (told.bootstrapPort() != null && handover.role() == Role.PREFILL) {
      text.value("bootstrap-port", told.bootstrapPort());
    }
    if (told.engineId() != null && handover.dialect().equals("vllm-push")) {
      text.value("engine-id", told.engineId());
    }
    text.close("}");
  }

  private void events(FleetEngine engine) {
    switch (engine.surveyed().events()) {
      case EventOrigin.Announced(EventPublishing.Zmq zmq) -> {
        text.comment("Cache events: told by the engine" + overGrpc(engine, " over gRPC")
            + (zmq.connects() ? ", which connects to the router." : "."));
        text.open("events {");
        text.value("endpoint", zmq.endpoint());
        if (zmq.replay() != null) {
          text.value("replay", zmq.replay());
        } else {
          text.comment("Without replay_endpoint in --kv-events-config, events that are lost stay lost.");
        }
        if (!zmq.topic().isEmpty()) {
          text.value("topic", zmq.topic());
        }
        if (zmq.connects()) {
          text.choice("bind", "true");
        }
        onceComputed(engine);
        otherRanks(zmq.otherRanks());
        text.close("}");
      }
      case EventOrigin.Assumed(String endpoint, boolean plainOnly) -> {
        text.comment("Cache events: not told, but somebody publishes at the default endpoint, and no other engine is"
            + " on that host. Where " + (plainOnly ? "kv_events_config" : "--kv-events-config") + " has a"
            + " replay_endpoint, name it, or lost events stay lost:");
        text.open("events {");
        text.value("endpoint", endpoint);
        if (plainOnly) {
          text.comment("TensorRT-LLM's leave out adapters and salts: serve such requests by other engines.");
          text.choice("plain-only", "true");
        }
        onceComputed(engine);
        text.suggestion("replay = \"" + endpoint.substring(0, endpoint.lastIndexOf(':')) + ":5657\"");
        text.close("}");
      }
      case EventOrigin.None(String why) -> {
        text.comment("Cache events: none. " + why + " The router believes that it keeps what it was sent, up to"
            + " capacity-blocks. With --kv-events-config:");
        text.suggestion("events { endpoint = \"tcp://" + engine.description().url().getHost()
            + ":5557\", replay = \"tcp://" + engine.description().url().getHost() + ":5657\" }");
      }
    }
  }

  private void onceComputed(FleetEngine engine) {
    EngineKind kind = engine.description().identity().kind();
    if (kind.sharesOnceComputed()) {
      text.comment(kind.label() + " shares blocks once they are computed: who counts on them waits for that.");
      text.choice("once-computed", "true");
    }
  }

  private void otherRanks(List<EventPublishing.RankSockets> ranks) {
    if (ranks.isEmpty()) {
      return;
    }
    text.open("other-ranks = [");
    for (EventPublishing.RankSockets rank : ranks) {
      text.open("{").value("endpoint", rank.endpoint());
      if (rank.replay() != null) {
        text.value("replay", rank.replay());
      }
      text.close("}");
    }
    text.close("]");
  }

  private String summary(FleetEngine engine) {
    EngineDescription description = engine.description();
    Integer blockSize = description.cache().blockSize();
    return "%s: %s at %s, %s, %s%n  %s".formatted(
        engine.name(), description.identity(), description.url(), String.join(", ", engine.surveyed().modelNames()),
        blockSize == null ? "KV blocks of unknown size" : "KV blocks of %d tokens".formatted(blockSize),
        switch (engine.surveyed().events()) {
          case EventOrigin.Announced(EventPublishing.Zmq zmq) -> "cache events at " + zmq.endpoint();
          case EventOrigin.Assumed(String endpoint, boolean _) ->
              "cache events at " + endpoint + ", the default, where somebody publishes";
          case EventOrigin.None(String why) ->
              "no cache events: the router believes that it keeps what it was sent. " + why;
        });
  }

  private static boolean isConfigured(Unknown unknown) {
    return unknown.what().equals("block size") || unknown.what().equals(Unknown.EVENTS);
  }

  /** Words about an engine that was asked over gRPC what it does not tell over HTTP, with the port; else none. */
  private static String overGrpc(FleetEngine engine, String words) {
    Integer port = engine.description().grpcPort();
    return port == null ? "" : words + " at port " + port;
  }

  private static String cacheOrigin(EngineKind kind) {
    return switch (kind) {
      case VLLM, LLM_D_SIMULATOR -> "its /metrics or /server_info";
      case SGLANG, TENSORRT_LLM -> "its /server_info";
      case DYNAMO -> "its /metrics";
      case LLAMA_CPP, UNKNOWN -> "the engine";
    };
  }
}
