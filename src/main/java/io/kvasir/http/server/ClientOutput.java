package io.kvasir.http.server;

import java.io.IOException;
import java.util.Arrays;

/**
 * The output to a client. It keeps buffers of a piece's length at most but for what a client that does not read has
 * been offered. One thread writes at a time.
 */
final class ClientOutput {
  /** A longer write is cut into pieces of this length, each of which is progress. */
  private static final int PIECE_BYTES = 64 << 10;

  /** A longer chunk becomes several. With its length in four digits and two lines' ends it is a piece. */
  private static final int CHUNK_BYTES = PIECE_BYTES - 8;

  private static final byte[] NONE = new byte[0];

  private static final byte[] HEXADECIMAL = {
    '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'
  };

  private final ClientSocket socket;
  private final ProgressDeadline deadline;
  private final ProgressDeadline.Limits limits;
  private byte[] frame = NONE;

  /** What was offered and not taken: {@code kept[0, keptLength)}. */
  private byte[] kept = NONE;

  private int keptLength;

  /** An output to {@code socket}, whose every wait has this deadline, with these limits. */
  ClientOutput(ClientSocket socket, ProgressDeadline deadline, ProgressDeadline.Limits limits) {
    this.socket = socket;
    this.deadline = deadline;
    this.limits = limits;
  }

  /** Whether something can be offered. */
  boolean canOffer() {
    return socket.canOffer();
  }

  /** Whether something was offered and has not been taken. */
  boolean isBehind() {
    return keptLength > 0;
  }

  /** Writes what was offered and not taken. */
  void flush() throws IOException {
    byte[] bytes = kept;
    int length = keptLength;
    keptLength = 0;
    if (bytes.length > PIECE_BYTES) {
      kept = NONE;
    }
    writeAll(bytes, 0, length);
  }

  /** Writes bytes, and waits until the socket has taken them. */
  void write(byte[] bytes, int offset, int length) throws IOException {
    flush();
    writeAll(bytes, offset, length);
  }

  private void writeAll(byte[] bytes, int offset, int length) throws IOException {
    int end = offset + length;
    int at = offset;
    if (socket.canOffer() && length > 0) {
      at += socket.offer(bytes, offset, Math.min(PIECE_BYTES, length));
    }
    if (at == end) {
      return;
    }
    deadline.start(limits);
    try {
      while (at < end) {
        int count = socket.write(bytes, at, Math.min(PIECE_BYTES, end - at));
        at += count;
        if (at < end) {
          deadline.progress(count);
        }
      }
    } finally {
      deadline.stop();
    }
  }

  /** Writes bytes that the socket takes at once, and keeps the others. */
  void offer(byte[] bytes, int offset, int length) throws IOException {
    int taken = keptLength > 0 ? 0 : socket.offer(bytes, offset, length);
    if (taken < length) {
      int needed = keptLength + length - taken;
      if (needed > kept.length) {
        kept = Arrays.copyOf(kept, Math.max(needed, 2 * kept.length));
      }
      System.arraycopy(bytes, offset + taken, kept, keptLength, length - taken);
      keptLength = needed;
    }
  }

  /** Writes bytes of a chunked body: a chunk's length, its bytes and the line's end in one piece. */
  void writeChunk(byte[] bytes, int offset, int length) throws IOException {
    int end = offset + length;
    for (int at = offset; at < end; at += CHUNK_BYTES) {
      int framed = frame(bytes, at, Math.min(CHUNK_BYTES, end - at));
      write(frame, 0, framed);
    }
  }

  /** Offers bytes of a chunked body. */
  void offerChunk(byte[] bytes, int offset, int length) throws IOException {
    int end = offset + length;
    for (int at = offset; at < end; at += CHUNK_BYTES) {
      int framed = frame(bytes, at, Math.min(CHUNK_BYTES, end - at));
      offer(frame, 0, framed);
    }
  }

  /** Puts the chunk into {@link #frame}; returns its length there. */
  private int frame(byte[] bytes, int offset, int length) {
    int digits = Math.max(1, (35 - Integer.numberOfLeadingZeros(length)) / 4);
    int total = digits + 2 + length + 2;
    if (frame.length < total) {
      frame = new byte[Math.max(1024, Integer.highestOneBit(total - 1) << 1)];
    }
    int at = 0;
    for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) {
      frame[at++] = HEXADECIMAL[length >>> shift & 0xf];
    }
    frame[at++] = '\r';
    frame[at++] = '\n';
    System.arraycopy(bytes, offset, frame, at, length);
    at += length;
    frame[at++] = '\r';
    frame[at++] = '\n';
    return at;
  }
}
