package io.kvasir.http.server;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.time.NanoClock;
import java.io.ByteArrayOutputStream;
import org.junit.jupiter.api.Test;

final class ClientOutputTest {
  private static final int PIECE = 64 << 10;
  private static final byte[] LONG = "0123456789abcdef".repeat(PIECE).getBytes(UTF_8);
  private static final byte[] SHORT = "short".getBytes(UTF_8);

  private final FullSocket socket = new FullSocket();
  private final ClientOutput output =
      new ClientOutput(
          socket, new ProgressDeadline(NanoClock.SYSTEM), ProgressDeadline.Limits.total(Long.MAX_VALUE));

  @Test
  void longChunk_isCut_andKeepsNoLongBuffer() throws Exception {
    output.writeChunk(LONG, 0, LONG.length);
    assertThat(socket.longestArray).isLessThanOrEqualTo(PIECE);
    output.writeChunk(SHORT, 0, SHORT.length);
    assertThat(unchunked()).isEqualTo(new String(LONG, UTF_8) + "short");
  }

  @Test
  void longChunkThatIsOffered_isKeptOnlyUntilItIsWritten() throws Exception {
    output.offerChunk(LONG, 0, LONG.length);
    assertThat(socket.longestOffer).isLessThanOrEqualTo(PIECE);
    output.flush();
    socket.longestArray = 0;
    output.offerChunk(SHORT, 0, SHORT.length);
    output.flush();
    assertThat(socket.longestArray).isLessThanOrEqualTo(PIECE);
    assertThat(unchunked()).isEqualTo(new String(LONG, UTF_8) + "short");
  }

  @Test
  void longWrite_isOfferedInPieces() throws Exception {
    output.write(LONG, 0, LONG.length);
    assertThat(socket.longestOffer).isLessThanOrEqualTo(PIECE);
    assertThat(socket.written.toByteArray()).isEqualTo(LONG);
  }

  private String unchunked() {
    String wire = socket.written.toString(UTF_8);
    StringBuilder body = new StringBuilder();
    for (int at = 0; at < wire.length(); ) {
      int data = wire.indexOf("\r\n", at) + 2;
      int end = data + Integer.parseInt(wire, at, data - 2, 16);
      body.append(wire, data, end);
      assertThat(wire.substring(end, end + 2)).isEqualTo("\r\n");
      at = end + 2;
    }
    return body.toString();
  }

  /** A socket that takes nothing at once, and sees which arrays it is given. */
  private static final class FullSocket implements ClientSocket {
    private final ByteArrayOutputStream written = new ByteArrayOutputStream();
    private int longestArray;
    private int longestOffer;

    @Override
    public void open() {}

    @Override
    public void read(ClientInput input, Runnable ended) {}

    @Override
    public void resume() {}

    @Override
    public boolean canOffer() {
      return true;
    }

    @Override
    public int offer(byte[] bytes, int offset, int length) {
      longestArray = Math.max(longestArray, bytes.length);
      longestOffer = Math.max(longestOffer, length);
      return 0;
    }

    @Override
    public int write(byte[] bytes, int offset, int length) {
      longestArray = Math.max(longestArray, bytes.length);
      written.write(bytes, offset, length);
      return length;
    }

    @Override
    public void shutdownOutput() {}

    @Override
    public void close() {}
  }
}
