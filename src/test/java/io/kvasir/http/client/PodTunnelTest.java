package io.kvasir.http.client;

import static io.kvasir.Await.await;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.http.ChannelLoop;
import io.kvasir.http.ChannelReader;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.FutureTask;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
final class PodTunnelTest {
  /** The loop finds at once that the channel can be read and that the tunnel, which has a piece by then, is resumed. */
  @Test
  void pieceThatIsCaughtUpWith_isNotOverwritten() throws Exception {
    try (ChannelLoop loop = new ChannelLoop("test-loop", 1);
        ServerSocketChannel listener = ServerSocketChannel.open()) {
      listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
      int port = listener.socket().getLocalPort();
      PlainConnection connection = new PlainConnection(new PodOrigin(false, "localhost", port), () -> loop);
      connection.tcp().connect(listener.getLocalAddress());
      connection.open(connection.tcp());
      try (SocketChannel pod = listener.accept()) {
        Executor thread = LoopThreads.of(loop);
        readAhead(connection, pod, thread, "first");
        CompletableFuture<@Nullable Void> goesOn = new CompletableFuture<>();
        thread.execute(goesOn::join);
        send(pod, "second");
        StringBuilder received = new StringBuilder();
        FutureTask<@Nullable Void> receiving =
            new FutureTask<>(() -> receive(new PodTunnel(connection, PodTunnelTest::broken), thread, received), null);
        startAndAwaitWait(receiving);
        goesOn.complete(null);
        receiving.get();
        assertThat(received).hasToString("first,second,");
      } finally {
        connection.close();
      }
    }
  }

  /** Has a call read something into its buffer for which it waited, so that the loop goes on to watch the channel. */
  private static void readAhead(PlainConnection connection, SocketChannel pod, Executor thread, String text)
      throws Exception {
    FutureTask<Integer> reading = new FutureTask<>(connection::fill);
    Thread reader = startAndAwaitWait(reading);
    // The loop has begun to watch the channel, and has the call wait again.
    runOn(thread);
    await(() -> reader.getState() == Thread.State.WAITING);
    send(pod, text);
    assertThat(reading.get()).isEqualTo(text.length());
  }

  private static void receive(PodTunnel tunnel, Executor thread, StringBuilder received) {
    byte[] buffer = new byte[1 << 10];
    try {
      tunnel.receive(buffer, new PodTunnel.Receiver() {
        private int held;

        @Override
        public ChannelReader.Next accept(int length) {
          held = length;
          return ChannelReader.Next.PAUSE;
        }

        @Override
        public boolean catchUp() {
          // By then the loop has done all that was to be done.
          runOn(thread);
          received.append(new String(buffer, 0, held, UTF_8)).append(',');
          return received.indexOf("second") < 0;
        }
      });
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  private static PodException broken(IOException e) {
    return new PodException(PodException.Kind.TRUNCATED, "cut", e);
  }

  private static Thread startAndAwaitWait(FutureTask<?> task) {
    Thread thread = Thread.ofPlatform().daemon().start(task);
    await(() -> thread.getState() == Thread.State.WAITING);
    return thread;
  }

  private static void runOn(Executor thread) {
    CompletableFuture.runAsync(() -> {}, thread).join();
  }

  private static void send(SocketChannel to, String text) throws IOException {
    to.write(ByteBuffer.wrap(text.getBytes(UTF_8)));
  }
}
