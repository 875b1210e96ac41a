package io.kvasir.picker;

import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.netty.shaded.io.netty.channel.EventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.MultiThreadIoEventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.epoll.Epoll;
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollIoHandler;
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollServerSocketChannel;
import io.grpc.netty.shaded.io.netty.channel.nio.NioIoHandler;
import io.grpc.netty.shaded.io.netty.channel.socket.nio.NioServerSocketChannel;
import io.grpc.netty.shaded.io.netty.util.concurrent.EventExecutor;
import java.util.concurrent.Executor;

/**
 * The threads of gateways' connections. What one of them does in one go is written in one go, too: a proxy that gets a
 * last message apart from the end of its stream might show a response in between, of which the first bytes would be
 * lost.
 */
final class ConnectionLoops implements AutoCloseable {
  private final EventLoopGroup acceptor;
  private final EventLoopGroup connections;

  ConnectionLoops() {
    this.acceptor = group(1);
    this.connections = group(0);
  }

  /** So many threads; 0 for as many as suit the machine. */
  private static EventLoopGroup group(int threads) {
    return new MultiThreadIoEventLoopGroup(
        threads, Epoll.isAvailable() ? EpollIoHandler.newFactory() : NioIoHandler.newFactory());
  }

  /** Has a server use them. */
  NettyServerBuilder serve(NettyServerBuilder server) {
    return server
        .bossEventLoopGroup(acceptor)
        .workerEventLoopGroup(connections)
        .channelType(Epoll.isAvailable() ? EpollServerSocketChannel.class : NioServerSocketChannel.class);
  }

  /** The thread of the connection that is being served, which calls. */
  Executor current() {
    for (EventExecutor loop : connections) {
      if (loop.inEventLoop()) {
        return loop;
      }
    }
    throw new IllegalStateException("not called by a connection's thread");
  }

  @Override
  public void close() {
    var _ = acceptor.shutdownGracefully();
    var _ = connections.shutdownGracefully();
  }
}
