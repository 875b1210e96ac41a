package io.kvasir.http.server;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.time.ManualClock;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
final class ConnectionRefusalsTest {
  private final ManualClock clock = new ManualClock();

  @Test
  void clientThatSendsByteByByte_isAwaitedForASecondInAll() throws Exception {
    SlowSocket socket = new SlowSocket();
    assertThat(new ConnectionRefusals(clock).refuse(socket, () -> "no".getBytes(UTF_8))).isTrue();
    socket.closed.await();
    assertThat(socket.answer.toString(UTF_8)).isEqualTo("no");
    assertThat(socket.reads).isEqualTo(2);
  }

  /** A client that sends a byte every 900 ms. */
  private final class SlowSocket extends Socket {
    private final ByteArrayOutputStream answer = new ByteArrayOutputStream();
    private final CountDownLatch closed = new CountDownLatch(1);
    private int reads;

    @Override
    public OutputStream getOutputStream() {
      return answer;
    }

    @Override
    public InputStream getInputStream() {
      return new InputStream() {
        @Override
        public int read() {
          reads++;
          clock.advance(Duration.ofMillis(900));
          return 'x';
        }

        @Override
        public int read(byte[] into, int offset, int length) {
          into[offset] = (byte) read();
          return 1;
        }
      };
    }

    @Override
    public void setSoTimeout(int millis) {
      assertThat(millis).isBetween(1, 1000);
    }

    @Override
    public void shutdownOutput() {
      // The client sees the end of its answer.
    }

    @Override
    public void close() {
      closed.countDown();
    }
  }
}
