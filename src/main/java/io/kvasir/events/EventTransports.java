package io.kvasir.events;

import io.kvasir.telemetry.Problem;
import io.kvasir.time.NanoClock;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * The event transports of one node: what the sources of several workers share, such as sockets' threads and
 * connections. Each is made when the first feed needs it. Thread-safe; closing it completes every stream, also those
 * opened later.
 */
public final class EventTransports implements AutoCloseable {
  private final EventMetrics metrics;
  private final NanoClock clock;
  private final Map<Class<?>, SharedTransport> shared = new HashMap<>();
  private final Map<String, Pullers> pullers = new HashMap<>();
  private boolean closed;

  /** Transports that count into {@code metrics}, none of them made yet. */
  public EventTransports(EventMetrics metrics, NanoClock clock) {
    this.metrics = metrics;
    this.clock = clock;
  }

  /** The instance of a type that all feeds of this node share, made on the first call. */
  public synchronized <T extends SharedTransport> T shared(Class<T> type, Function<EventMetrics, T> factory) {
    SharedTransport found = shared.get(type);
    if (found == null) {
      found = factory.apply(metrics);
      shared.put(type, found);
      if (closed) {
        found.close();
      }
    }
    return type.cast(found);
  }

  /** The clock of timeouts and pauses. */
  public NanoClock clock() {
    return clock;
  }

  /** The receiver of pushed events. */
  public PushEvents push() {
    return shared(PushEvents.class, PushEvents::new);
  }

  /** Sockets of ZMQ. */
  ZmqEvents zmq() {
    return shared(ZmqEvents.class, made -> new ZmqEvents(made, clock));
  }

  /**
   * Follows the load that an engine's rank publishes over ZMQ, on the threads that read events.
   *
   * @param endpoint of the rank's PUB socket, such as {@code tcp://engine:5558}
   * @param topic prefix of the messages' topic
   * @return ends it; may be called more than once
   */
  public Runnable followLoad(String endpoint, String topic, LoadListener listener) {
    return zmq().followLoad(endpoint, topic, listener);
  }

  /**
   * A source that reads its transport on a virtual thread of its own.
   *
   * @param kind the source's name in metrics
   * @param description what is read, for the log
   * @param transport makes the transport of one subscription, when it begins
   */
  EventSource polled(String kind, String description, Supplier<Puller.Transport> transport) {
    return pullers(kind).source(description, transport);
  }

  private synchronized Pullers pullers(String kind) {
    Pullers found = pullers.computeIfAbsent(kind, name -> new Pullers(metrics.of(name)));
    if (closed) {
      found.end();
    }
    return found;
  }

  /** What keeps streams of any transport from being up to date; empty when nothing does. */
  public synchronized List<Problem> problems() {
    return shared.values().stream().flatMap(transport -> transport.problems().stream()).toList();
  }

  @Override
  public synchronized void close() {
    closed = true;
    pullers.values().forEach(Pullers::end);
    shared.values().forEach(SharedTransport::close);
  }
}
