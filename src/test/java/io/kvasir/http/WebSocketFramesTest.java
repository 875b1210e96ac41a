package io.kvasir.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

final class WebSocketFramesTest {
  @Test
  void endsOfFrames_areFoundHoweverTheyAreCut() {
    Random random = new Random(11);
    for (int round = 0; round < 200; round++) {
      ByteArrayOutputStream stream = new ByteArrayOutputStream();
      List<Integer> ends = new ArrayList<>();
      for (int i = 0; i < 20; i++) {
        stream.writeBytes(frame(random, random.nextInt(3), random.nextBoolean()));
        ends.add(stream.size());
      }
      byte[] bytes = stream.toByteArray();
      WebSocketFrames frames = new WebSocketFrames();
      List<Integer> found = new ArrayList<>();
      int at = 0;
      while (at < bytes.length) {
        int to = Math.min(bytes.length, at + 1 + random.nextInt(random.nextBoolean() ? 3 : 5000));
        while (at < to) {
          at = frames.readToEnd(bytes, at, to);
          if (frames.isBetween()) {
            found.add(at);
          }
        }
      }
      assertThat(found).isEqualTo(ends);
      assertThat(frames.isClosed()).isFalse();
    }
  }

  /** A frame with a length of one, two or eight bytes. */
  private static byte[] frame(Random random, int form, boolean masked) {
    int length = form == 0 ? random.nextInt(126) : form == 1 ? 126 + random.nextInt(1000) : random.nextInt(3000);
    ByteArrayOutputStream frame = new ByteArrayOutputStream();
    frame.write(random.nextBoolean() ? 0x82 : 0x00);
    frame.write((form == 0 ? length : form == 1 ? 126 : 127) | (masked ? 0x80 : 0));
    for (int shift = form == 0 ? -8 : form == 1 ? 8 : 56; shift >= 0; shift -= 8) {
      frame.write((int) ((long) length >> shift));
    }
    byte[] rest = new byte[length + (masked ? 4 : 0)];
    random.nextBytes(rest);
    frame.writeBytes(rest);
    return frame.toByteArray();
  }

  @Test
  void closeFrame_isSeenAtItsFirstByte() {
    WebSocketFrames frames = new WebSocketFrames();
    byte[] close = WebSocketFrames.close(1001, "bye", 0);
    assertThat(close).isEqualTo(new byte[] {(byte) 0x88, 5, 0x03, (byte) 0xe9, 'b', 'y', 'e'});
    frames.read(close, 0, 1);
    assertThat(frames.isClosed()).isTrue();
    assertThat(frames.isBetween()).isFalse();
    frames.read(close, 1, close.length);
    assertThat(frames.isBetween()).isTrue();
  }

  @Test
  void closeFrameOfAClient_isMasked() {
    byte[] close = WebSocketFrames.close(1000, "ok", 0x11223344);
    assertThat(close).isEqualTo(new byte[] {
        (byte) 0x88, (byte) 0x84, 0x11, 0x22, 0x33, 0x44, 0x03 ^ 0x11, (byte) (0xe8 ^ 0x22), 'o' ^ 0x33, 'k' ^ 0x44});
    WebSocketFrames frames = new WebSocketFrames();
    frames.read(close, 0, close.length);
    assertThat(frames.isBetween()).isTrue();
  }

  @Test
  void longReason_isRefused() {
    assertThat(WebSocketFrames.close(1000, "x".repeat(123), 0)).hasSize(127);
    assertThatThrownBy(() -> WebSocketFrames.close(1000, "x".repeat(124), 0))
        .isInstanceOf(IllegalArgumentException.class);
  }
}
