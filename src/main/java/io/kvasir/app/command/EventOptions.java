package io.kvasir.app.command;

import io.kvasir.sim.publisher.EventFormat;
import io.kvasir.sim.settings.EngineApi;
import io.kvasir.sim.settings.EventSettings;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options of {@code kvasir sim} for the events that the engine publishes about its cache. */
final class EventOptions {
  @Option(
      names = "--events-port",
      defaultValue = "5557",
      description = "ZMQ port of events; rank r: port + r.")
  private int eventsPort;

  @Option(
      names = "--replay-port",
      defaultValue = "5657",
      description = "ZMQ port of replay; rank r: port + r.")
  private int replayPort;

  @Option(
      names = "--buffer-steps",
      defaultValue = "10000",
      description = "Batches kept for replay, as buffer_steps of --kv-events-config.")
  private int bufferSteps;

  @Option(
      names = "--snapshots",
      description = "Serve snapshots of the cache on the replay port, as vLLM's pull request 50134 proposes.")
  private boolean snapshots;

  @Option(names = "--events-connect", description = "Dial the router at tcp://host:port instead of binding.")
  private @Nullable String eventsConnect;

  @Option(names = "--topic", defaultValue = "", description = "Topic of the event messages.")
  private String topic = "";

  @Option(
      names = "--event-encoding",
      description = "How events are encoded: vllm-map (0.24 and later), vllm-array (before), sglang,"
          + " tensorrt-llm. Default: that of --act-as.")
  private @Nullable String encoding;

  @Option(
      names = "--byte-hashes",
      description = "Block hashes as bytes, as with VLLM_KV_EVENTS_USE_INT_BLOCK_HASHES=0.")
  private boolean byteHashes;

  @Option(names = "--zero-parent", description = "A root's parent is 0 instead of nothing.")
  private boolean zeroParent;

  @Option(
      names = "--load-port",
      description = "ZMQ port of load, as SGLang's --load-publish-endpoint; rank r: port + r. None by default.")
  private @Nullable Integer loadPort;

  @Option(names = "--no-events", description = "Tell nothing of the cache.")
  private boolean noEvents;

  @Nullable Integer loadPort() {
    return loadPort;
  }

  /**
   * The settings of an engine.
   *
   * @param api the engine that it acts as
   */
  EventSettings settings(String host, EngineApi api, List<String> wrong) {
    if (noEvents) {
      return EventSettings.OFF;
    }
    EventFormat.Encoding chosen = api.encoding();
    if (encoding != null) {
      try {
        chosen = EventFormat.Encoding.valueOf(encoding.toUpperCase(Locale.ROOT).replace('-', '_'));
      } catch (IllegalArgumentException unknown) {
        wrong.add("event-encoding: '" + encoding + "' is not known; one of vllm-map, vllm-array, sglang,"
            + " tensorrt-llm");
      }
    }
    return new EventSettings(
        true,
        host,
        new EventSettings.PubSettings(eventsPort, eventsConnect),
        new EventSettings.ReplaySettings(
            true,
            replayPort,
            chosen == EventFormat.Encoding.VLLM_MAP || chosen == EventFormat.Encoding.TENSORRT_LLM,
            bufferSteps,
            snapshots),
        topic,
        new EventFormat(chosen, byteHashes, zeroParent));
  }
}
