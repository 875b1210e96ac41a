package io.kvasir.http.server;

import io.kvasir.time.NanoClock;
import java.io.IOException;
import java.io.OutputStream;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** The output to a client. One thread writes at a time; any may check whether its write has stalled. */
final class ClientOutput {
  private final NanoClock clock;
  private volatile @Nullable OutputStream out;
  private byte[] frame = new byte[0];

  /** Nanosecond clock when the current write began, 0 when there is none. */
  private volatile long writeStarted;

  ClientOutput(NanoClock clock) {
    this.clock = clock;
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
    writeStarted = clock.nanos() | 1;
    try {
      to.write(bytes, offset, length);
    } finally {
      writeStarted = 0;
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

  /** Whether a write has waited for the client longer than it may. */
  boolean stalled(long now, Duration most) {
    long began = writeStarted;
    return began != 0 && now - began > most.toNanos();
  }
}
