package io.kvasir.http.server;

import java.io.IOException;
import java.io.OutputStream;
import org.jspecify.annotations.Nullable;

/** The output to a client. One thread writes at a time. */
final class ClientOutput {
  /** A longer write is cut into pieces of this length, each of which is progress. */
  private static final int PIECE_BYTES = 64 << 10;

  private final ProgressDeadline deadline;
  private final ProgressDeadline.Limits limits;
  private volatile @Nullable OutputStream out;
  private byte[] frame = new byte[0];

  /** An output whose every write has this deadline, with these limits. */
  ClientOutput(ProgressDeadline deadline, ProgressDeadline.Limits limits) {
    this.deadline = deadline;
    this.limits = limits;
  }

  /** Sets the stream that is written to. */
  void open(OutputStream to) {
    out = to;
  }

  void write(byte[] bytes, int offset, int length) throws IOException {
    OutputStream to = out;
    if (to == null) {
      throw new IOException("not connected");
    }
    deadline.start(limits);
    try {
      int end = offset + length;
      for (int at = offset; at < end; at += PIECE_BYTES) {
        int count = Math.min(PIECE_BYTES, end - at);
        to.write(bytes, at, count);
        if (count < length) {
          deadline.progress(count);
        }
      }
    } finally {
      deadline.stop();
    }
  }

  /** Writes one chunk of a chunked body: its length, the bytes and the line's end in one piece. */
  void writeChunk(byte[] bytes, int offset, int length) throws IOException {
    String size = Integer.toHexString(length);
    int total = size.length() + 2 + length + 2;
    if (frame.length < total) {
      frame = new byte[Math.max(1024, Integer.highestOneBit(total) << 1)];
    }
    int at = 0;
    while (at < size.length()) {
      frame[at] = (byte) size.charAt(at);
      at++;
    }
    frame[at++] = '\r';
    frame[at++] = '\n';
    System.arraycopy(bytes, offset, frame, at, length);
    at += length;
    frame[at++] = '\r';
    frame[at++] = '\n';
    write(frame, 0, at);
  }
}
