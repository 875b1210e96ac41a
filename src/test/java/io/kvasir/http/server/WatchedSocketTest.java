package io.kvasir.http.server;

import io.kvasir.http.ChannelLoop;
import io.kvasir.http.MemoryBudget;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
final class WatchedSocketTest {
  @Test
  void socketThatIsClosedBeforeItIsRead_endsAllTheSame() throws Exception {
    try (ChannelLoop loop = new ChannelLoop("test-clients", 1);
        ServerSocketChannel listener = ServerSocketChannel.open()) {
      listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
      SocketChannel client = SocketChannel.open(listener.getLocalAddress());
      SocketChannel other = SocketChannel.open(listener.getLocalAddress());
      try {
        WatchedSocket socket = new WatchedSocket(listener.accept(), loop);
        socket.open();
        socket.close();
        CountDownLatch later = new CountDownLatch(1);
        // Its one thread has seen the end of the first when it has seen that of the next.
        WatchedSocket next = new WatchedSocket(listener.accept(), loop);
        next.open();
        next.read(input(next), later::countDown);
        next.close();
        later.await();
        CountDownLatch ended = new CountDownLatch(1);
        socket.read(input(socket), ended::countDown);
        ended.await();
      } finally {
        client.close();
        other.close();
      }
    }
  }

  private static ClientInput input(WatchedSocket socket) {
    Metrics metrics = new Metrics(new PrometheusRegistry());
    return new ClientInput(new Unread(), new MemoryBudget(1 << 20, NanoClock.SYSTEM, metrics), socket::resume);
  }

  private static final class Unread implements ClientInput.InputHandler {
    @Override
    public boolean received(int bytes) {
      return false;
    }

    @Override
    public @Nullable InboundStream inbound() {
      return null;
    }

    @Override
    public boolean awaitsBody() {
      return false;
    }

    @Override
    public boolean isClosed() {
      return false;
    }
  }
}
