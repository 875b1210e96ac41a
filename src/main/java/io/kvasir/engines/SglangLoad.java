package io.kvasir.engines;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.IOException;
import java.net.URI;
import java.util.stream.IntStream;

/**
 * Reads where SGLang publishes its load, as {@code /server_info} has it when it runs with {@code
 * --load-publish-endpoint} (SGLang 0.5.23, {@code describe_kv_events_publisher} in {@code
 * python/sglang/srt/runtime_context.py}): a PUB socket for each rank, of replicas as of attention, at the first port +
 * rank. They are bound to every interface, so the host is that of the engine's URL.
 */
public final class SglangLoad {
  /** The page. */
  public static final String PAGE = "/server_info";

  private static final JsonMapper JSON = new JsonMapper();
  private static final int MAX_PORT = 65_535;

  /** A subscription is sent to the engine whole, and each message begins with it. SGLang's own is "load". */
  static final int MAX_TOPIC = 255;

  private SglangLoad() {}

  /**
   * What the page of an engine tells; nothing where it is none.
   *
   * @param engine its address
   * @param page {@link #PAGE} as it came
   */
  public static LoadPublishing publishing(URI engine, byte[] page) {
    try {
      return publishing(engine, JSON.readTree(page));
    } catch (IOException malformed) {
      return new LoadPublishing.Untold();
    }
  }

  static LoadPublishing publishing(URI engine, JsonNode serverInfo) {
    JsonNode events = serverInfo.path("kv_events");
    if (!events.hasNonNull("load_endpoint_port_base")) {
      return new LoadPublishing.Untold();
    }
    Integer port = EnginePages.count(events.path("load_endpoint_port_base"));
    Integer ranks = EnginePages.count(events.path("dp_size"));
    int count = ranks == null ? 1 : ranks;
    String topic = events.path("load_topic").asText("");
    if (count > EngineDescription.MAX_RANKS) {
      return new LoadPublishing.Unusable("It publishes the load of " + count + " data-parallel ranks, and a pod may"
          + " have " + EngineDescription.MAX_RANKS
          + ": give the ranks to several servers, and each of these as a pod.");
    }
    if (port == null || port > MAX_PORT - count + 1) {
      return new LoadPublishing.Unusable("It names no port from which its " + count + " data-parallel ranks could"
          + " publish their load: set one in --load-publish-endpoint, or auto.");
    }
    if (topic.length() > MAX_TOPIC) {
      return new LoadPublishing.Unusable("It publishes its load under a topic of " + topic.length()
          + " characters, and at most " + MAX_TOPIC + " are subscribed to.");
    }
    String first = "tcp://" + engine.getHost() + ":" + port;
    return new LoadPublishing.Zmq(
        new LoadFeed(
            IntStream.range(0, count).mapToObj(rank -> PublishedEndpoint.ofRank(first, rank)).toList(), topic));
  }
}
