package io.kvasir.engines;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.engines.EventPublishing.RankSockets;
import io.kvasir.vllm.KvEventSource;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Where vLLM's ranks publish: the resolved {@code --kv-events-config} of each data-parallel rank that does. It tells by
 * {@code /kv_event_sources} (vLLM, {@code vllm/entrypoints/serve/instrumentator/basic.py} and {@code
 * vllm/config/kv_events.py}; the Rust frontend has the same page), and over gRPC by {@code Control.GetKvEventSources}.
 */
final class VllmEventSources {
  private static final int MAX_RANK = 99_999;
  /** The longest name of a transport or encoding that is repeated. */
  private static final int MAX_WORD = 32;

  /** As vLLM numbers what it publishes; it does not say which version the page's are. */
  private static final int SCHEMA_VERSION = 1;

  private final URI engine;
  private final TreeMap<Integer, Source> ranks = new TreeMap<>();
  private int named;
  private @Nullable String unusable;
  /** Whether it told of a source without saying of which rank, so of all. */
  private boolean isOfAll;

  /** A rank's publisher; {@code bufferSteps} as everywhere, null when the engine does not tell. */
  private record Source(String endpoint, @Nullable String replay, String topic, @Nullable Integer bufferSteps) {}

  private VllmEventSources(URI engine) {
    this.engine = engine;
  }

  /** The sources that an engine's page has, by the ranks' numbers. */
  static VllmEventSources of(URI engine, JsonNode page) {
    VllmEventSources sources = new VllmEventSources(engine);
    for (Map.Entry<String, JsonNode> rank : page.properties()) {
      JsonNode own = rank.getValue();
      if (rank.getKey().matches("\\d{1,5}") && own.path("endpoint").isTextual()
          && own.path("publisher").asText("zmq").equals("zmq") && own.path("enable_kv_cache_events").asBoolean(true)) {
        sources.add(
            Integer.parseInt(rank.getKey()),
            new Source(
                own.path("endpoint").textValue(), own.path("replay_endpoint").textValue(),
                own.path("topic").asText(""), EnginePages.count(own.path("buffer_steps"))));
      }
    }
    return sources;
  }

  /** The sources that an engine told over gRPC. */
  static VllmEventSources of(URI engine, List<KvEventSource> told) {
    VllmEventSources sources = new VllmEventSources(engine);
    for (KvEventSource own : told) {
      int rank = own.getDataParallelRank();
      sources.isOfAll |= !own.hasDataParallelRank();
      if (!isRead(own)) {
        sources.unusable = "It publishes cache events by " + word(own.getTransport()) + " as "
            + word(own.getEncoding()) + ", schema version " + Integer.toUnsignedLong(own.getSchemaVersion())
            + ", and the router reads msgpack of version " + SCHEMA_VERSION + " by zmq: take a version of Kvasir that"
            + " reads these, or one of vLLM that publishes those.";
      } else if (rank >= 0 && rank <= MAX_RANK && !own.getEndpoint().isEmpty()) {
        sources.add(
            rank,
            new Source(
                own.getEndpoint(), own.getReplayEndpoint().isEmpty() ? null : own.getReplayEndpoint(), own.getTopic(),
                own.getBufferSteps() > 0 ? Integer.valueOf(own.getBufferSteps()) : null));
      }
    }
    return sources;
  }

  private static String word(String told) {
    return told.isEmpty() ? "(no word)" : told.length() > MAX_WORD ? told.substring(0, MAX_WORD) + "..." : told;
  }

  private static boolean isRead(KvEventSource source) {
    return source.getTransport().equals("zmq") && source.getEncoding().equals("msgpack")
        && source.getSchemaVersion() == SCHEMA_VERSION;
  }

  private void add(int rank, Source source) {
    named++;
    if (named <= EngineDescription.MAX_RANKS) {
      ranks.put(rank, source);
    }
  }

  /** Its ranks, as far as they publish; null when none does. */
  @Nullable Integer count() {
    return named == 0 || isOfAll ? null : named;
  }

  /**
   * How the engine publishes.
   *
   * @param count its ranks; the sources of a part of them only are of no use
   * @param configured the endpoint that it was started with, null when it does not tell
   */
  EventPublishing publishing(int count, @Nullable String configured) {
    if (unusable != null) {
      return new EventPublishing.Unusable(unusable);
    }
    if (isOfAll && (named > 1 || count > 1)) {
      return new EventPublishing.Unusable("It does not tell of which rank its cache events are, and has several: set"
          + " events of the pod with the endpoint of each.");
    }
    if (named == 0) {
      return new EventPublishing.Off();
    }
    if (named > EngineDescription.MAX_RANKS) {
      return new EventPublishing.TooMany(named);
    }
    if (count != ranks.size()) {
      return new EventPublishing.Untold();
    }
    List<RankSockets> sockets = new ArrayList<>();
    ranks.values().forEach(own -> sockets.add(sockets(own)));
    Source first = ranks.firstEntry().getValue();
    String started = configured == null ? first.endpoint() : configured;
    boolean dials = configured != null && !PublishedEndpoint.vllmBinds(configured);
    EventPublishing.Zmq zmq =
        new EventPublishing.Zmq(
            sockets.getFirst().endpoint(), sockets.getFirst().replay(), first.topic(), first.bufferSteps(),
            dials, dials || countUp(sockets) ? List.of() : sockets.subList(1, sockets.size()));
    return configured != null || PublishedEndpoint.vllmBinds(started)
        ? zmq
        : new EventPublishing.BoundOrDialled(zmq);
  }

  private RankSockets sockets(Source own) {
    return new RankSockets(
        String.valueOf(PublishedEndpoint.of(engine, own.endpoint())), PublishedEndpoint.of(engine, own.replay()));
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
