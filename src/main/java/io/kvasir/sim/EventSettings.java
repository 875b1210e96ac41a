package io.kvasir.sim;

import io.kvasir.sim.publisher.EventFormat;
import org.jspecify.annotations.Nullable;

/**
 * How a simulated engine publishes its cache events.
 *
 * @param enabled whether it does
 * @param host interface to bind, {@code *} for all
 * @param port port of rank 0's PUB socket, rank r's is {@code port + r}; 0 for free ones
 * @param connect an address such as {@code tcp://router:5557} that the PUB sockets connect to instead of
 *     binding (rank r to its port + r); null to bind
 * @param replay whether the last batches can be replayed
 * @param replayPort port of rank 0's ROUTER socket, rank r's is {@code replayPort + r}; 0 for free ones
 * @param topic first frame of every message; may be empty
 * @param topicInReplay whether replayed messages carry the topic frame (vLLM since 0.26) or not (before, SGLang)
 * @param bufferSteps batches kept for replay, per rank
 * @param format the format of the events
 */
public record EventSettings(
    boolean enabled,
    String host,
    int port,
    @Nullable String connect,
    boolean replay,
    int replayPort,
    String topic,
    boolean topicInReplay,
    int bufferSteps,
    EventFormat format) {

  /** As vLLM with events on: PUB bound to every interface's port 5557, replay at 5657, maps, no topic. */
  public static final EventSettings DEFAULT =
      new EventSettings(true, "*", 5557, null, true, 5657, "", true, 10_000, EventFormat.VLLM);

  /** No events. */
  public static final EventSettings OFF =
      new EventSettings(false, "*", 5557, null, false, 5657, "", true, 0, EventFormat.VLLM);

  /** These, on free ports of the loopback interface. */
  public EventSettings withLoopback() {
    return withAddress("127.0.0.1");
  }

  /** These, on free ports of an interface. */
  public EventSettings withAddress(String address) {
    return new EventSettings(
        enabled, address, 0, connect, replay, 0, topic, topicInReplay, bufferSteps, format);
  }

  /** These, in another format. */
  public EventSettings withFormat(EventFormat other) {
    return new EventSettings(
        enabled, host, port, connect, replay, replayPort, topic, topicInReplay, bufferSteps, other);
  }

  /** These, on other ports. */
  EventSettings withPorts(int events, int replayOf) {
    return new EventSettings(
        enabled, host, events, connect, replay, replayOf, topic, topicInReplay, bufferSteps, format);
  }

  /** Adds the faults that these settings have for so many ranks. */
  void validate(SettingFaults faults, int ranks) {
    if (!enabled) {
      return;
    }
    if (connect == null) {
      faults.checkPort("events-port", port, ranks);
    } else if (!connect.matches("tcp://[^:]+:\\d{1,5}")) {
      faults.add("events-connect: must look like tcp://host:port, is '" + connect + "'");
    }
    if (replay) {
      faults.checkPort("replay-port", replayPort, ranks);
      boolean bothFixed = connect == null && port > 0 && replayPort > 0;
      if (bothFixed && Math.abs(port - replayPort) < ranks) {
        faults.add("replay-port: " + replayPort + " is nearer than " + ranks + " to events-port "
            + port + ", and every rank takes the next port of each");
      }
      faults.checkAtLeast("buffer-steps", bufferSteps, 1);
    }
  }
}
