package io.kvasir.http.client;

import io.kvasir.http.ChannelLoop;
import io.kvasir.http.ChannelReader;
import io.kvasir.http.ConnectionThread;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/** The threads of loops. */
final class LoopThreads {
  private LoopThreads() {}

  /** A thread of a loop. */
  static Executor of(ChannelLoop loop) throws Exception {
    try (ServerSocketChannel listener = ServerSocketChannel.open()) {
      listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
      try (SocketChannel near = SocketChannel.open(listener.getLocalAddress());
          SocketChannel _ = listener.accept()) {
        near.configureBlocking(false);
        CompletableFuture<Executor> found = new CompletableFuture<>();
        loop.watch(near, new ChannelReader() {
          @Override
          public ChannelReader.Next read(ChannelReader.Buffers buffers) {
            found.complete(ConnectionThread.currentConnection());
            return ChannelReader.Next.END;
          }

          @Override
          public void ended(@Nullable IOException failure) {}
        }).resume();
        return found.get();
      }
    }
  }
}
