package io.kvasir.execution.attempt;

import io.kvasir.http.client.PodException;
import io.kvasir.http.client.PodResponse;
import java.util.Arrays;

/** Buffers the first bytes of a response while its request can still be tried elsewhere. One thread at a time. */
final class FirstBytes {
  private static final int READ_BYTES = 8 << 10;

  private final Deadlines deadlines;
  private byte[] buffer = new byte[0];
  private int held;

  FirstBytes(Deadlines deadlines) {
    this.deadlines = deadlines;
  }

  /** The bytes, with space behind them that may be used once they are relayed. */
  byte[] buffer() {
    return buffer;
  }

  int length() {
    return held;
  }

  /** Lets go of the bytes, which have been relayed: the rest may take minutes. */
  void drop() {
    buffer = new byte[0];
    held = 0;
  }

  /** A copy of just the bytes. */
  byte[] bytes() {
    return held == buffer.length ? buffer : Arrays.copyOf(buffer, held);
  }

  /** Waits for the first piece of a stream; false when it ended before. */
  boolean readFirst(PodResponse answer) throws PodException {
    buffer = new byte[READ_BYTES];
    held = Math.max(0, answer.read(buffer, 0, buffer.length));
    deadlines.firstByteReceived();
    return held > 0;
  }

  /** Reads on until the body is over (true) or longer than {@code limit} (false). */
  boolean readUpTo(PodResponse answer, int limit) throws PodException {
    long length = answer.contentLength();
    buffer = new byte[(int) Math.min(limit, length < 0 ? READ_BYTES : length)];
    while (true) {
      if (held == buffer.length) {
        if (length >= 0 && held == length) {
          // The body's end is known; this read only lets the connection be reused.
          return answer.read(new byte[1], 0, 1) < 0;
        }
        if (held == limit) {
          return false;
        }
        buffer = Arrays.copyOf(buffer, (int) Math.min(limit, 2L * held));
      }
      deadlines.awaitingPod();
      int read = answer.read(buffer, held, buffer.length - held);
      deadlines.firstByteReceived();
      if (read < 0) {
        return true;
      }
      held += read;
    }
  }
}
