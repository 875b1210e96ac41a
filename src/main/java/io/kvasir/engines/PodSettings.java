package io.kvasir.engines;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.engines.TransferDescription.Role;
import org.jspecify.annotations.Nullable;

/** What an engine told, as the settings of its pod that the configuration's {@code pods[]} have. */
public final class PodSettings {
  /** The most that {@code capacity-blocks} may be. */
  private static final int MOST_BLOCKS = 1 << 24;

  private PodSettings() {}

  /** The settings that are known, by the configuration's names; without name and URL. */
  public static ObjectNode of(SurveyedEngine engine) {
    ObjectNode settings = JsonNodeFactory.instance.objectNode();
    engine.modelNames().forEach(settings.putArray("models")::add);
    CacheDescription cache = engine.description().cache();
    put(settings, "ranks", cache.ranks());
    put(settings, "block-size", cache.blockSize());
    Integer blocks = cache.blocks();
    put(settings, "capacity-blocks", blocks == null ? null : Integer.valueOf(Math.min(blocks, MOST_BLOCKS)));
    if (Boolean.TRUE.equals(cache.retainsSessions())) {
      settings.put("retention", "sglang");
    }
    KvHandover.of(engine).ifPresent(handover -> put(settings, handover));
    switch (engine.events()) {
      case EventOrigin.Announced(EventPublishing.Zmq zmq) ->
          putOnceComputed(put(settings.putObject("events"), zmq), engine);
      case EventOrigin.Assumed(String endpoint, boolean plainOnly) -> {
        ObjectNode events = settings.putObject("events").put("endpoint", endpoint);
        if (plainOnly) {
          events.put("plain-only", true);
        }
        putOnceComputed(events, engine);
      }
      case EventOrigin.None _ -> {
        // The router believes that it keeps what it was sent.
      }
    }
    return settings;
  }

  private static void put(ObjectNode settings, String name, @Nullable Integer count) {
    if (count != null) {
      settings.put(name, count);
    }
  }

  private static void put(ObjectNode settings, KvHandover handover) {
    TransferDescription told = handover.transfer();
    settings.put("role", handover.role().label());
    ObjectNode transfer = settings.putObject("kv-transfer").put("dialect", handover.dialect());
    if (told.bootstrapPort() != null && handover.role() == Role.PREFILL) {
      transfer.put("bootstrap-port", told.bootstrapPort());
    }
    if (told.engineId() != null && handover.dialect().equals("vllm-push")) {
      transfer.put("engine-id", told.engineId());
    }
  }

  private static void putOnceComputed(ObjectNode events, SurveyedEngine engine) {
    if (engine.description().identity().kind().sharesOnceComputed()) {
      events.put("once-computed", true);
    }
  }

  private static ObjectNode put(ObjectNode events, EventPublishing.Zmq zmq) {
    events.put("endpoint", zmq.endpoint());
    if (zmq.replay() != null) {
      events.put("replay", zmq.replay());
    }
    if (!zmq.topic().isEmpty()) {
      events.put("topic", zmq.topic());
    }
    if (zmq.connects()) {
      events.put("bind", true);
    }
    if (!zmq.otherRanks().isEmpty()) {
      ArrayNode others = events.putArray("other-ranks");
      for (EventPublishing.RankSockets rank : zmq.otherRanks()) {
        ObjectNode sockets = others.addObject().put("endpoint", rank.endpoint());
        if (rank.replay() != null) {
          sockets.put("replay", rank.replay());
        }
      }
    }
    return events;
  }
}
