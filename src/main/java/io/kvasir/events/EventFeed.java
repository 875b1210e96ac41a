package io.kvasir.events;

import com.fasterxml.jackson.annotation.JsonSubTypes;
import com.fasterxml.jackson.annotation.JsonTypeInfo;
import java.net.URI;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * One way a pod's cache events come. A pod may have several: then each tells the same facts, and what holds is what
 * any of them said last of a block (copies are not counted, and a loss on any of them is a loss).
 *
 * <p>In texts, {@code {pod}}, {@code {rank}} and {@code {worker}} stand for the worker's.
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
public sealed interface EventFeed {
  /** Whether they come on a connection of the router's own to the engine, so that its loss says something of it. */
  default boolean direct() {
    return switch (this) {
      case Zmq zmq -> !zmq.bind();
      case TensorRt _, Grpc _ -> true;
      case Push _, Nats _, Redis _ -> false;
    };
  }

  /**
   * ZMQ sockets, as vLLM and SGLang have them. Rank r is found at each port + r.
   *
   * @param endpoint what the router's SUB socket connects to, or binds when {@code bind}
   * @param replay the replay ROUTER's endpoint, null when the engine offers none
   * @param topic topic prefix; when binding, it tells this pod's messages from others'
   * @param bind whether the router binds and the engines dial in
   */
  record Zmq(String endpoint, @Nullable String replay, String topic, boolean bind) implements EventFeed {
    /**
     * The endpoints of the pod's first rank.
     *
     * @throws IllegalArgumentException when they cannot be used; says why
     */
    public ZmqEndpoints endpoints() {
      return new ZmqEndpoints(endpoint, replay, topic, bind);
    }
  }

  /**
   * The engine's side pushes them to the gateway.
   *
   * @param key what it has to show as {@code Authorization: Bearer KEY}, null for nothing
   */
  record Push(@Nullable String key) implements EventFeed {}

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
      implements EventFeed {}

  /**
   * A Redis stream.
   *
   * @param url such as {@code redis://user:password@host:6379/0}, {@code rediss} for TLS
   * @param stream the worker's key, a pattern
   */
  record Redis(URI url, String stream) implements EventFeed {}

  /**
   * A TensorRT-LLM server that is asked; nobody else may ask it.
   *
   * @param url its base URL, null for the pod's own
   * @param interval between an answer without events and the next question
   */
  record TensorRt(@Nullable URI url, Duration interval) implements EventFeed {}

  /**
   * A stream that the engine's side serves.
   *
   * @param address host:port
   * @param tls whether it is to prove who it is
   */
  record Grpc(String address, boolean tls) implements EventFeed {}
}
