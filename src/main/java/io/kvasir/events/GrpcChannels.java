package io.kvasir.events;

import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/**
 * The gRPC channels of event streams, one for each server: workers at one address share it, and the last of them closes
 * it. Thread-safe.
 */
final class GrpcChannels implements SharedTransport {
  private static final int MAX_MESSAGE = 64 << 20;

  private final Map<Server, SharedChannel> channels = new ConcurrentHashMap<>();

  private record Server(String address, boolean tls) {}

  /** A channel, and how many use it. */
  private record SharedChannel(ManagedChannel channel, int users) {}

  /** The channel to a server, for a user that will {@link #release} it. */
  ManagedChannel to(String address, boolean tls) {
    return channels
        .compute(
            new Server(address, tls),
            (server, shared) ->
                shared == null
                    ? new SharedChannel(channel(server), 1)
                    : new SharedChannel(shared.channel(), shared.users() + 1))
        .channel();
  }

  /** A user of the channel to a server needs it no more. */
  void release(String address, boolean tls) {
    channels.computeIfPresent(
        new Server(address, tls),
        (_, shared) -> {
          if (shared.users() > 1) {
            return new SharedChannel(shared.channel(), shared.users() - 1);
          }
          shared.channel().shutdownNow();
          return null;
        });
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
    channels.values().forEach(shared -> shared.channel().shutdownNow());
  }
}
