package io.kvasir.engines;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.IOException;
import java.net.URI;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Where an engine publishes its load, as SGLang has it in {@code /server_info} when it runs with {@code
 * --load-publish-endpoint} (SGLang 0.5.23, {@code describe_kv_events_publisher} in {@code
 * python/sglang/srt/runtime_context.py}): a PUB socket for each rank, of replicas as of attention, at the first port +
 * rank. They are bound to every interface, so the host is that of the engine's URL.
 *
 * @param endpoints of the ranks in their order, such as {@code tcp://engine:5558}; at least one
 * @param topic prefix of the messages' topic
 */
public record LoadFeed(List<String> endpoints, String topic) {
  private static final JsonMapper JSON = new JsonMapper();
  private static final int MAX_PORT = 65_535;

  /** Copies the list. */
  public LoadFeed {
    endpoints = List.copyOf(endpoints);
  }

  /**
   * What an engine's {@code /server_info} announces; null when that is nothing, or no feed that could be read.
   *
   * @param engine its address
   * @param serverInfo the page as it came
   */
  public static @Nullable LoadFeed of(URI engine, byte[] serverInfo) {
    JsonNode events;
    try {
      events = JSON.readTree(serverInfo).path("kv_events");
    } catch (IOException malformed) {
      return null;
    }
    Integer port = EngineAnswers.count(events.path("load_endpoint_port_base"));
    Integer ranks = EngineAnswers.count(events.path("dp_size"));
    int count = ranks == null ? 1 : ranks;
    if (port == null || count > EngineDescription.MAX_RANKS || port > MAX_PORT - count + 1) {
      return null;
    }
    String first = "tcp://" + engine.getHost() + ":" + port;
    return new LoadFeed(
        IntStream.range(0, count).mapToObj(rank -> PublishedEndpoint.ofRank(first, rank)).toList(),
        events.path("load_topic").asText(""));
  }
}
