package io.kvasir.sim.settings;

import io.kvasir.sim.publisher.EventFormat;
import io.kvasir.sim.publisher.EventFormat.Encoding;
import org.jspecify.annotations.Nullable;

/**
 * How a simulated engine publishes its cache events.
 *
 * @param enabled whether it does
 * @param host interface to bind, {@code *} for all
 * @param pub where the events of each rank are sent
 * @param replay how the last batches can be had again
 * @param topic first frame of every message; may be empty
 * @param format the format of the events
 */
public record EventSettings(
    boolean enabled, String host, PubSettings pub, ReplaySettings replay, String topic, EventFormat format) {

  /** As vLLM with events on: PUB bound to every interface's port 5557, replay at 5657, maps, no topic. */
  public static final EventSettings DEFAULT =
      new EventSettings(
          true, "*", PubSettings.bound(5557), new ReplaySettings(true, 5657, true, 10_000), "", EventFormat.VLLM);

  /** No events. */
  public static final EventSettings OFF =
      new EventSettings(
          false, "*", PubSettings.bound(5557), new ReplaySettings(false, 5657, true, 0), "", EventFormat.VLLM);

  /**
   * The PUB sockets.
   *
   * @param port port of rank 0's socket, rank r's is {@code port + r}; 0 for free ones
   * @param connect an address such as {@code tcp://router:5557} that the sockets connect to instead of binding (rank r
   *     to its port + r); null to bind
   * @param countsUp whether free ports are neighbours too, those of replay as well; else each rank's are any, and
   *     others after a restart, as vLLM's at {@code tcp://*:0}
   */
  public record PubSettings(int port, @Nullable String connect, boolean countsUp) {
    /** Sockets whose ports are neighbours. */
    public PubSettings(int port, @Nullable String connect) {
      this(port, connect, true);
    }

    /** Sockets bound to a port and its successors. */
    public static PubSettings bound(int port) {
      return new PubSettings(port, null);
    }
  }

  /**
   * The replay of the last batches.
   *
   * @param enabled whether they can be replayed
   * @param port port of rank 0's ROUTER socket, rank r's is {@code port + r}; 0 for free ones
   * @param withTopic whether replayed messages carry the topic frame (vLLM since 0.26) or not (before, SGLang)
   * @param bufferSteps batches kept, per rank
   * @param snapshots whether all that is held can be had there, too, as vLLM's pull request 50134 proposes
   */
  public record ReplaySettings(boolean enabled, int port, boolean withTopic, int bufferSteps, boolean snapshots) {
    /** A replay without snapshots. */
    public ReplaySettings(boolean enabled, int port, boolean withTopic, int bufferSteps) {
      this(enabled, port, withTopic, bufferSteps, false);
    }

    ReplaySettings withPort(int other) {
      return new ReplaySettings(enabled, other, withTopic, bufferSteps, snapshots);
    }
  }

  /** These, on free ports of the loopback interface. */
  public EventSettings withLoopback() {
    return withAddress("127.0.0.1");
  }

  /** These, on free ports of the loopback interface that are anywhere for each rank. */
  public EventSettings withScatteredPorts() {
    return new EventSettings(
        enabled, "127.0.0.1", new PubSettings(0, null, false), replay.withPort(0), topic, format);
  }

  /** These, on free ports of an interface. */
  public EventSettings withAddress(String address) {
    return new EventSettings(
        enabled, address, new PubSettings(0, pub.connect()), replay.withPort(0), topic, format);
  }

  /** These, with other batches kept, and with or without snapshots. */
  public EventSettings withHistory(int bufferSteps, boolean snapshots) {
    return new EventSettings(
        enabled, host, pub,
        new ReplaySettings(replay.enabled(), replay.port(), replay.withTopic(), bufferSteps, snapshots), topic, format);
  }

  /** These, in another format. */
  public EventSettings withFormat(EventFormat other) {
    return new EventSettings(enabled, host, pub, replay, topic, other);
  }

  /** These, on other ports. */
  public EventSettings withPorts(int pubPort, int replayPort) {
    return new EventSettings(
        enabled, host, new PubSettings(pubPort, pub.connect()), replay.withPort(replayPort), topic, format);
  }

  /** Adds the faults that these settings have for so many ranks. */
  void validate(SettingFaults faults, int ranks) {
    if (!enabled) {
      return;
    }
    String connect = pub.connect();
    if (connect == null) {
      faults.checkPort("events-port", pub.port(), ranks);
    } else if (!connect.matches("tcp://[^:]+:\\d{1,5}")) {
      faults.add("events-connect: must look like tcp://host:port, is '" + connect + "'");
    } else {
      faults.checkPort("events-connect", Integer.parseInt(connect.substring(connect.lastIndexOf(':') + 1)), ranks);
    }
    if (replay.enabled()) {
      faults.checkPort("replay-port", replay.port(), ranks);
      boolean bothFixed = connect == null && pub.port() > 0 && replay.port() > 0;
      if (bothFixed && Math.abs(pub.port() - replay.port()) < ranks) {
        faults.add("replay-port: " + replay.port() + " is nearer than " + ranks + " to events-port "
            + pub.port() + ", and every rank takes the next port of each");
      }
      faults.checkAtLeast("buffer-steps", replay.bufferSteps(), 1);
    }
    if (replay.snapshots()
        && (format.encoding() == Encoding.SGLANG || format.encoding() == Encoding.TENSORRT_LLM)) {
      faults.add("snapshots: are proposed for vLLM; set event-encoding to vllm-map or vllm-array");
    }
  }
}
