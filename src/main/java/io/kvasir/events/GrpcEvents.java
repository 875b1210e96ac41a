package io.kvasir.events;

import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.MethodDescriptor;
import io.grpc.protobuf.ProtoUtils;
import io.kvasir.events.v1.Batch;
import io.kvasir.events.v1.SubscribeRequest;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/**
 * Event streams that engines, or sidecars, serve over gRPC; {@code src/main/proto/events.proto} says how. A stream is
 * asked for from the first batch that is missing, so a lost connection loses nothing that the engine's side keeps.
 *
 * <p>Each worker is read by a virtual thread, message by message: while its queue is full nothing is asked for, and
 * HTTP/2 halts the sender. Workers at one address share a connection. Thread-safe; whoever makes it closes it, which
 * ends every stream.
 */
public final class GrpcEvents implements AutoCloseable {
  /** The one method, as the generated stub would have it. */
  static final MethodDescriptor<SubscribeRequest, Batch> SUBSCRIBE =
      MethodDescriptor.<SubscribeRequest, Batch>newBuilder()
          .setType(MethodDescriptor.MethodType.SERVER_STREAMING)
          .setFullMethodName(MethodDescriptor.generateFullMethodName("kvasir.events.v1.CacheEvents", "Subscribe"))
          .setRequestMarshaller(ProtoUtils.marshaller(SubscribeRequest.getDefaultInstance()))
          .setResponseMarshaller(ProtoUtils.marshaller(Batch.getDefaultInstance()))
          .build();

  private static final int MAX_MESSAGE = 64 << 20;

  private final Map<Server, ManagedChannel> channels = new ConcurrentHashMap<>();
  private final Pullers pullers;

  private record Server(String address, boolean tls) {}

  /** Connects to nothing yet. */
  public GrpcEvents(EventMetrics metrics) {
    this.pullers = new Pullers(metrics.of("grpc"));
  }

  /**
   * A worker's events. Nothing is connected before the source is run.
   *
   * @param address host:port of the engine's side
   * @param tls whether it is to prove who it is
   * @param rank the worker's
   */
  public EventSource source(String address, boolean tls, int rank) {
    return pullers.source(
        "rank " + rank + " at " + address,
        () -> new GrpcTransport(channels.computeIfAbsent(new Server(address, tls), GrpcEvents::channel), rank));
  }

  private static ManagedChannel channel(Server server) {
    ManagedChannelBuilder<?> channel =
        ManagedChannelBuilder.forTarget(server.address())
            .maxInboundMessageSize(MAX_MESSAGE)
            // A server that vanished without a word is noticed within half a minute.
            .keepAliveTime(20, TimeUnit.SECONDS)
            .keepAliveTimeout(5, TimeUnit.SECONDS)
            .userAgent("kvasir");
    return (server.tls() ? channel : channel.usePlaintext()).build();
  }

  @Override
  public void close() {
    pullers.end();
    channels.values().forEach(ManagedChannel::shutdownNow);
  }
}
