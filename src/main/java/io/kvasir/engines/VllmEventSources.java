package io.kvasir.engines;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.engines.EventPublishing.RankSockets;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Reads vLLM's {@code /kv_event_sources}: the resolved {@code --kv-events-config} of each data-parallel rank that
 * publishes, by the rank's number (vLLM, {@code vllm/entrypoints/serve/instrumentator/basic.py} and {@code
 * vllm/config/kv_events.py}; the Rust frontend has the same page).
 */
final class VllmEventSources {
  private final URI engine;
  private final TreeMap<Integer, JsonNode> ranks = new TreeMap<>();
  private int named;

  /** The sources of an engine. */
  VllmEventSources(URI engine, JsonNode page) {
    this.engine = engine;
    for (Map.Entry<String, JsonNode> rank : page.properties()) {
      JsonNode own = rank.getValue();
      if (rank.getKey().matches("\\d{1,5}") && own.path("endpoint").isTextual()
          && own.path("publisher").asText("zmq").equals("zmq") && own.path("enable_kv_cache_events").asBoolean(true)) {
        named++;
        if (named <= EngineDescription.MAX_RANKS) {
          ranks.put(Integer.valueOf(rank.getKey()), own);
        }
      }
    }
  }

  /** Its ranks, as far as they publish; null when none does. */
  @Nullable Integer count() {
    return named == 0 ? null : named;
  }

  /**
   * How the engine publishes.
   *
   * @param count its ranks; the sources of a part of them only are of no use
   * @param configured the endpoint that it was started with, null when it does not tell
   */
  EventPublishing publishing(int count, @Nullable String configured) {
    if (named == 0) {
      return new EventPublishing.Off();
    }
    if (named > EngineDescription.MAX_RANKS) {
      return new EventPublishing.TooMany(named);
    }
    if (count != named) {
      return new EventPublishing.Untold();
    }
    List<RankSockets> sockets = new ArrayList<>();
    ranks.values().forEach(own -> sockets.add(sockets(own)));
    JsonNode first = ranks.firstEntry().getValue();
    String started = configured == null ? first.path("endpoint").asText() : configured;
    boolean dials = configured != null && !PublishedEndpoint.vllmBinds(configured);
    EventPublishing.Zmq zmq =
        new EventPublishing.Zmq(
            sockets.getFirst().endpoint(), sockets.getFirst().replay(), first.path("topic").asText(""),
            EngineAnswers.count(first.path("buffer_steps")),
            dials, dials || countUp(sockets) ? List.of() : sockets.subList(1, sockets.size()));
    return configured != null || PublishedEndpoint.vllmBinds(started)
        ? zmq
        : new EventPublishing.BoundOrDialled(zmq);
  }

  private RankSockets sockets(JsonNode own) {
    return new RankSockets(
        String.valueOf(PublishedEndpoint.of(engine, own.path("endpoint").textValue())),
        PublishedEndpoint.of(engine, own.path("replay_endpoint").textValue()));
  }

  /** Whether each rank is at the first one's ports + its number, counted from the first. */
  private static boolean countUp(List<RankSockets> sockets) {
    RankSockets first = sockets.getFirst();
    for (int rank = 1; rank < sockets.size(); rank++) {
      RankSockets own = sockets.get(rank);
      String replay = first.replay();
      if (!own.endpoint().equals(PublishedEndpoint.ofRank(first.endpoint(), rank))
          || !(replay == null ? own.replay() == null
              : PublishedEndpoint.ofRank(replay, rank).equals(own.replay()))) {
        return false;
      }
    }
    return true;
  }
}
