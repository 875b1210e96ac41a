package io.kvasir.http.client;

import io.kvasir.http.Headers;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The head of a pod's answer, and its body as it comes. One thread at a time. The connection goes back to
 * the pool when the body was read to its end; {@link #close} before that closes it.
 */
public final class PodResponse implements AutoCloseable {
  /** First size of the buffer for a whole body of unknown length. */
  private static final int FIRST_BYTES = 4 << 10;

  private final BodyReader call;
  private final PodConnection connection;
  private final ResponseHead head;
  private final BodyFraming framing;
  private final boolean reusable;
  private boolean ended;

  /** The call that a response's body is read by. */
  interface BodyReader {
    int read(PodConnection connection, BodyFraming framing, byte[] bytes, int offset, int length) throws PodException;

    /** Gives the connection back, if it can be used again, or closes it: no more of the body is read. */
    void finished(PodConnection connection, boolean reusable);

    /** Closes the connection; returns the exception with the reason. */
    PodException failed(PodException.Kind kind, String what, @Nullable Throwable cause);
  }

  PodResponse(BodyReader call, PodConnection connection, ResponseHead head, BodyFraming framing, boolean sentWhole) {
    this.call = call;
    this.connection = connection;
    this.head = head;
    this.framing = framing;
    this.reusable = sentWhole && head.persistent() && framing.leavesConnectionOpen();
    endIfRead();
  }

  /** HTTP status, 200..599: informational answers are skipped. */
  public int status() {
    return head.status();
  }

  /** The answer's headers as they came, hop-by-hop ones included. */
  public Headers headers() {
    return head.headers();
  }

  /** Length of the body in bytes when the head has it or there is none by rule, otherwise -1. */
  public long contentLength() {
    return framing.length();
  }

  /**
   * Reads what has arrived of the body, transfer coding removed; waits for at least one byte.
   *
   * @param length at least 1
   * @return how many bytes, -1 at the end of the body
   * @throws PodException when the body is cut short, late or malformed, or the call was aborted
   */
  public int read(byte[] bytes, int offset, int length) throws PodException {
    while (!ended) {
      int read = call.read(connection, framing, bytes, offset, length);
      endIfRead();
      if (read > 0) {
        return read;
      }
    }
    return -1;
  }

  /** Whether the whole body has been read: known as soon as its end has arrived with its last bytes. */
  public boolean hasEnded() {
    return ended;
  }

  private void endIfRead() {
    if (!ended && framing.hasEnded()) {
      ended = true;
      call.finished(connection, reusable);
    }
  }

  /**
   * The rest of the body.
   *
   * @param limit in bytes
   * @throws PodException also when the body is longer than {@code limit}
   */
  public byte[] readAll(int limit) throws PodException {
    byte[] bytes = new byte[Math.min(limit, FIRST_BYTES)];
    int size = 0;
    while (true) {
      if (size == bytes.length) {
        if (ended) {
          return bytes;
        }
        bytes = Arrays.copyOf(bytes, (int) Math.clamp(bytes.length * 2L, 1, limit + 1L));
      }
      int read = read(bytes, size, bytes.length - size);
      if (read < 0) {
        return size == bytes.length ? bytes : Arrays.copyOf(bytes, size);
      }
      size += read;
      if (size > limit) {
        ended = true;
        throw call.failed(PodException.Kind.PROTOCOL, "sent more than the " + limit + " bytes allowed here", null);
      }
    }
  }

  /** Gives the connection back when the body was read to its end, closes it otherwise. Idempotent. */
  @Override
  public void close() {
    if (!ended) {
      ended = true;
      call.finished(connection, false);
    }
  }
}
