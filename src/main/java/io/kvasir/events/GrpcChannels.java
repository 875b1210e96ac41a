package io.kvasir.events;

import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/** The gRPC channels of event streams, one for each server: workers at one address share it. Thread-safe. */
final class GrpcChannels implements SharedTransport {
  private static final int MAX_MESSAGE = 64 << 20;

  private final Map<Server, ManagedChannel> channels = new ConcurrentHashMap<>();

  private record Server(String address, boolean tls) {}

  /** The channel to a server. */
  ManagedChannel to(String address, boolean tls) {
    return channels.computeIfAbsent(new Server(address, tls), GrpcChannels::channel);
  }

  private static ManagedChannel channel(Server server) {
    ManagedChannelBuilder<?> channel =
        ManagedChannelBuilder.forTarget(server.address())
            .maxInboundMessageSize(MAX_MESSAGE)
            // A server that vanished without closing the connection is noticed within half a minute.
            .keepAliveTime(20, TimeUnit.SECONDS)
            .keepAliveTimeout(5, TimeUnit.SECONDS)
            .userAgent("kvasir");
    return (server.tls() ? channel : channel.usePlaintext()).build();
  }

  @Override
  public void close() {
    channels.values().forEach(ManagedChannel::shutdownNow);
  }
}
