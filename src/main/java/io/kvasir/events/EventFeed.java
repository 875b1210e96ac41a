package io.kvasir.events;

import com.fasterxml.jackson.annotation.JsonSubTypes;
import com.fasterxml.jackson.annotation.JsonTypeInfo;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The configuration of one event stream of a pod's workers: a transport with its settings, which opens the sources of
 * single workers. A pod may have several feeds, each of which carries all events; they are then merged
 * ({@link MergedEvents}).
 *
 * <p>In patterns, {@code {pod}}, {@code {rank}}, {@code {worker}}, {@code {host}} and {@code {address}} are replaced
 * for each worker ({@link WorkerAddress#expand}).
 */
@JsonTypeInfo(use = JsonTypeInfo.Id.NAME, property = "source")
@JsonSubTypes({
  @JsonSubTypes.Type(value = EventFeed.Zmq.class, name = "zmq"),
  @JsonSubTypes.Type(value = EventFeed.Push.class, name = "push"),
  @JsonSubTypes.Type(value = EventFeed.Nats.class, name = "nats"),
  @JsonSubTypes.Type(value = EventFeed.Redis.class, name = "redis"),
  @JsonSubTypes.Type(value = EventFeed.TensorRt.class, name = "tensorrt"),
  @JsonSubTypes.Type(value = EventFeed.Grpc.class, name = "grpc")
})
public interface EventFeed {
  /** What it is called where sources are told apart: as in configurations and metrics. */
  String kind();

  /** Whether the router itself connects to the engine, so that a lost connection is a sign of a failed engine. */
  boolean direct();

  /** Whether a stream that is opened again begins with what was read before, as far as it is kept anywhere. */
  default boolean rereadable() {
    return true;
  }

  /** Whether events report under which adapter and cache salt blocks are; where not, only plain ones are known. */
  default boolean reportsNamespaces() {
    return true;
  }

  /** Whether the engine is known to share a prompt's blocks only once they are computed, whatever its events show. */
  default boolean onceComputed() {
    return false;
  }

  /**
   * Opens the source of one worker's events. Nothing is connected before the source is run.
   *
   * @param transports the node's transports, which the source shares with other workers' sources
   */
  EventSource open(WorkerAddress worker, EventTransports transports);

  /** A trial of one worker's events; null where a second reader would take them away, or could not read them. */
  default @Nullable FeedTrial trial(WorkerAddress worker) {
    return null;
  }

  /**
   * The sockets of a data-parallel rank.
   *
   * @param endpoint what the router's SUB socket connects to
   * @param replay the replay ROUTER's endpoint, null when the engine offers none
   * @param snapshotEndpoint the endpoint for snapshots of a format that has its own, null for others
   */
  record RankSockets(String endpoint, @Nullable String replay, @Nullable String snapshotEndpoint) {
    /** Sockets without one for snapshots alone. */
    public RankSockets(String endpoint, @Nullable String replay) {
      this(endpoint, replay, null);
    }
  }

  /**
   * ZMQ sockets, as vLLM, SGLang and TensorRT-LLM have them. Rank r is found at each port + r where {@code otherRanks}
   * is empty.
   *
   * @param endpoint what the router's SUB socket connects to, or binds when {@code bind}
   * @param replay the replay ROUTER's endpoint, null when the engine offers none
   * @param topic topic prefix, a pattern; when binding, it distinguishes this pod's messages from others'
   * @param bind whether the router binds and the engines connect
   * @param plainOnly whether events leave out adapters and salts, as TensorRT-LLM's do
   * @param onceComputed whether the engine shares a prompt's blocks only once it has computed them, as SGLang does
   * @param otherRanks the sockets of rank 1, 2 and so on, for ranks whose ports the system chose, or on other hosts
   * @param snapshot how the engine is asked for a snapshot; {@code NONE} without an endpoint for it
   * @param snapshotEndpoint the endpoint for snapshots of a format that has its own, null for others
   */
  record Zmq(
      String endpoint, @Nullable String replay, String topic, boolean bind, boolean plainOnly, boolean onceComputed,
      List<RankSockets> otherRanks, SnapshotFormat snapshot, @Nullable String snapshotEndpoint)
      implements EventFeed {
    /** Copies the list; it and the snapshots' format may be missing in what a node of another version has sent. */
    public Zmq {
      otherRanks = List.copyOf(Objects.requireNonNullElse(otherRanks, List.of()));
      snapshot = Objects.requireNonNullElse(snapshot, SnapshotFormat.NONE);
    }

    /** The sockets of an engine that is asked for snapshots at its replay endpoint, or not. */
    public Zmq(
        String endpoint, @Nullable String replay, String topic, boolean bind, boolean plainOnly, boolean onceComputed,
        List<RankSockets> otherRanks, SnapshotFormat snapshot) {
      this(endpoint, replay, topic, bind, plainOnly, onceComputed, otherRanks, snapshot, null);
    }

    /** The sockets of an engine whose events have adapters and salts, and whose ports count up; without snapshots. */
    public Zmq(String endpoint, @Nullable String replay, String topic, boolean bind) {
      this(endpoint, replay, topic, bind, false, false, List.of(), SnapshotFormat.NONE);
    }

    @Override
    public boolean reportsNamespaces() {
      return !plainOnly;
    }

    /**
     * The endpoints of a worker.
     *
     * @throws IllegalArgumentException when they cannot be used, or there are none for its rank; the message has the
     *     reason
     */
    public ZmqEndpoints endpoints(WorkerAddress worker) {
      return ofRank(worker.rank(), worker.expand(topic));
    }

    /**
     * The endpoints of a rank, with the pattern of the pod's topic.
     *
     * @throws IllegalArgumentException as the above
     */
    public ZmqEndpoints ofRank(int rank) {
      return ofRank(rank, topic);
    }

    private ZmqEndpoints ofRank(int rank, String ownTopic) {
      if (rank == 0 || otherRanks.isEmpty()) {
        return new ZmqEndpoints(endpoint, replay, ownTopic, bind, snapshot, snapshotEndpoint).ofRank(rank);
      }
      if (rank > otherRanks.size()) {
        throw new IllegalArgumentException("no endpoint of rank " + rank + " is named");
      }
      RankSockets own = otherRanks.get(rank - 1);
      return new ZmqEndpoints(
          own.endpoint(), own.replay(), ownTopic, bind, snapshot, own.snapshotEndpoint());
    }

    @Override
    public String kind() {
      return "zmq";
    }

    @Override
    public boolean direct() {
      return !bind;
    }

    @Override
    public EventSource open(WorkerAddress worker, EventTransports transports) {
      return transports.zmq().source(endpoints(worker));
    }
  }

  /**
   * HTTP requests to the gateway, with which a sidecar of the engine pushes its events.
   *
   * @param key the bearer token a request has to carry in {@code Authorization}, null for none
   */
  record Push(@Nullable String key) implements EventFeed {
    @Override
    public String kind() {
      return "push";
    }

    @Override
    public boolean direct() {
      return false;
    }

    @Override
    public EventSource open(WorkerAddress worker, EventTransports transports) {
      return transports.push().source(worker.id(), key);
    }
  }

  /**
   * A NATS JetStream.
   *
   * @param servers addresses such as {@code nats://user:password@host:4222}, separated by commas
   * @param stream its name, empty to find it by the subject
   * @param subject the worker's, a pattern
   * @param history how far back the stream is read when it is opened
   * @param credentials a file with NATS credentials on every node, null for none
   */
  record Nats(String servers, String stream, String subject, Duration history, @Nullable String credentials)
      implements EventFeed {
    @Override
    public String kind() {
      return "nats";
    }

    @Override
    public boolean direct() {
      return false;
    }

    @Override
    public EventSource open(WorkerAddress worker, EventTransports transports) {
      NatsConnections connections =
          transports.shared(NatsConnections.class, _ -> new NatsConnections(transports.clock()));
      NatsEndpoint endpoint = endpoint(worker);
      return transports.polled(
          "nats", endpoint.description(), () -> new NatsTransport(endpoint, connections.to(endpoint)));
    }

    @Override
    public FeedTrial trial(WorkerAddress worker) {
      return new NatsTrial(endpoint(worker));
    }

    private NatsEndpoint endpoint(WorkerAddress worker) {
      return new NatsEndpoint(servers, stream, worker.expand(subject), history, credentials, worker.id());
    }
  }

  /**
   * A Redis stream (Redis 7 or later), one key a worker.
   *
   * @param url such as {@code redis://user:password@host:6379/0}, {@code rediss} for TLS
   * @param stream the worker's key, a pattern
   */
  record Redis(URI url, String stream) implements EventFeed {
    @Override
    public String kind() {
      return "redis";
    }

    @Override
    public boolean direct() {
      return false;
    }

    @Override
    public EventSource open(WorkerAddress worker, EventTransports transports) {
      String key = worker.expand(stream);
      return transports.polled(
          "redis",
          key + " at " + url.getHost() + ":" + RedisTransport.port(url),
          () -> new RedisTransport(url, key));
    }

    @Override
    public FeedTrial trial(WorkerAddress worker) {
      return new RedisTrial(url, worker.expand(stream));
    }
  }

  /**
   * A TensorRT-LLM server, which is polled; it must have no other reader.
   *
   * @param url its base URL, null for the pod's own
   * @param interval pause after a response without events
   */
  record TensorRt(@Nullable URI url, Duration interval) implements EventFeed {
    @Override
    public String kind() {
      return "tensorrt";
    }

    @Override
    public boolean rereadable() {
      return false;
    }

    @Override
    public boolean reportsNamespaces() {
      return false;
    }

    @Override
    public boolean direct() {
      return true;
    }

    @Override
    public EventSource open(WorkerAddress worker, EventTransports transports) {
      return transports
          .shared(TensorRtEvents.class, metrics -> new TensorRtEvents(metrics, transports.clock()))
          .source(url == null ? worker.url() : url, worker.rank(), worker.ranks(), interval);
    }
  }

  /**
   * A gRPC stream that the engine or its sidecar serves ({@code src/main/proto/events.proto}).
   *
   * @param address host:port
   * @param tls whether the connection is TLS
   */
  record Grpc(String address, boolean tls) implements EventFeed {
    @Override
    public String kind() {
      return "grpc";
    }

    @Override
    public boolean direct() {
      return true;
    }

    @Override
    public EventSource open(WorkerAddress worker, EventTransports transports) {
      GrpcChannels channels = transports.shared(GrpcChannels.class, _ -> new GrpcChannels());
      return transports.polled(
          "grpc",
          "rank " + worker.rank() + " at " + address,
          () ->
              new GrpcTransport(
                  channels.to(address, tls), () -> channels.release(address, tls), worker.rank()));
    }

    @Override
    public FeedTrial trial(WorkerAddress worker) {
      return new GrpcTrial(address, tls, worker.rank());
    }
  }
}
