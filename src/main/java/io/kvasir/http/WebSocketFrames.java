package io.kvasir.http;

/**
 * The frames of one direction of a WebSocket (RFC 6455 §5.2), followed byte by byte to know where one ends and whether
 * a close frame has come. It judges nothing: what the frames mean, and whether they are sound, is for the two ends. One
 * thread at a time.
 */
public final class WebSocketFrames {
  private static final int CLOSE = 8;
  private static final int OPCODE = 0x0f;
  private static final int LENGTH = 0x7f;
  private static final int MASK_BYTES = 4;
  private static final int LONGEST_REASON = 123;

  private int headerRead;
  private int headerLength;
  private int lengthEnd;
  private long remaining;
  private boolean within;
  private boolean closed;

  /** Whether the next byte begins a frame. */
  public boolean isBetween() {
    return !within;
  }

  /** Whether a close frame has begun: nothing may follow it. */
  public boolean isClosed() {
    return closed;
  }

  /** Reads all of these bytes. */
  public void read(byte[] bytes, int from, int to) {
    for (int at = from; at < to; ) {
      at = readToEnd(bytes, at, to);
    }
  }

  /** Reads to the end of the frame in progress, or of the first one; where that is, {@code to} when it goes on. */
  public int readToEnd(byte[] bytes, int from, int to) {
    int at = from;
    while (at < to) {
      if (within && headerRead == headerLength) {
        int count = (int) Math.min(remaining, to - at);
        at += count;
        remaining -= count;
      } else {
        header(bytes[at++]);
      }
      if (headerRead == headerLength && remaining == 0) {
        within = false;
        headerRead = 0;
        return at;
      }
    }
    return at;
  }

  private void header(byte next) {
    switch (headerRead++) {
      case 0 -> {
        within = true;
        closed |= (next & OPCODE) == CLOSE;
        headerLength = 2;
        remaining = 0;
      }
      case 1 -> {
        int length = next & LENGTH;
        lengthEnd = length < 126 ? 2 : length == 126 ? 4 : 10;
        headerLength = lengthEnd + (next < 0 ? MASK_BYTES : 0);
        remaining = length < 126 ? length : 0;
      }
      default -> {
        if (headerRead <= lengthEnd) {
          // The topmost bit of 64 has to be 0.
          remaining = (remaining << 8 | (next & 0xff)) & Long.MAX_VALUE;
        }
      }
    }
  }

  /**
   * A close frame.
   *
   * @param code why, by RFC 6455 §7.4
   * @param reason for people; ASCII, at most {@value #LONGEST_REASON} characters
   * @param mask the four bytes that a client's frame is masked with; 0 for a server's, which is not
   */
  public static byte[] close(int code, String reason, int mask) {
    int length = 2 + reason.length();
    if (length > LONGEST_REASON + 2) {
      throw new IllegalArgumentException("a close frame's reason has at most " + LONGEST_REASON + " characters");
    }
    int start = mask == 0 ? 2 : 2 + MASK_BYTES;
    byte[] frame = new byte[start + length];
    frame[0] = (byte) (0x80 | CLOSE);
    frame[1] = (byte) (mask == 0 ? length : 0x80 | length);
    frame[start] = (byte) (code >> 8);
    frame[start + 1] = (byte) code;
    for (int i = 0; i < reason.length(); i++) {
      frame[start + 2 + i] = (byte) reason.charAt(i);
    }
    if (mask != 0) {
      for (int i = 0; i < MASK_BYTES; i++) {
        frame[2 + i] = maskByte(mask, i);
      }
      for (int i = 0; i < length; i++) {
        frame[start + i] ^= maskByte(mask, i % MASK_BYTES);
      }
    }
    return frame;
  }

  private static byte maskByte(int mask, int at) {
    return (byte) (mask >>> (24 - 8 * at));
  }
}
