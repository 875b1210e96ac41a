package io.kvasir.http.client;

import io.kvasir.http.Headers;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** The head of a pod's answer, and its body as it comes. One thread at a time. */
public interface PodResponse extends AutoCloseable {
  /** HTTP status, 200..599: informational answers are skipped. 101 when the connection has left HTTP. */
  int status();

  /** The answer's headers as they came, hop-by-hop ones included. */
  Headers headers();

  /** Length of the body in bytes when the head has it or there is none by rule, otherwise -1. */
  long contentLength();

  /**
   * Reads what has arrived of the body, transfer coding removed; waits for at least one byte.
   *
   * @param length at least 1
   * @return how many bytes, -1 at the end of the body
   * @throws PodException when the body is cut short, late or malformed, or the call was aborted
   */
  int read(byte[] bytes, int offset, int length) throws PodException;

  /** Whether {@link #stream} can be used. */
  boolean canStream();

  /**
   * Reads the rest of the body, each piece as it comes, on a thread that does the same for other bodies, while the
   * calling thread waits.
   *
   * @param receiver takes the pieces
   * @return whether the body has been read to its end; false when the receiver wanted no more
   * @throws PodException as {@link #read}
   * @throws IOException what the receiver failed with
   */
  boolean stream(PieceReceiver receiver) throws IOException;

  /** The receiver of a body's pieces, on a thread that others share: it must not block. */
  @FunctionalInterface
  interface PieceReceiver {
    /**
     * Takes a piece.
     *
     * @param bytes the piece, at their beginning; another's on return
     * @param length of the piece
     * @return whether it wants more
     * @throws IOException ends the reading
     */
    boolean accept(byte[] bytes, int length) throws IOException;
  }

  /** The connection that has left HTTP, in place of a body; null where it has not. Once. */
  default @Nullable PodTunnel tunnel() throws PodException {
    return null;
  }

  /** Whether the whole body has been read: known as soon as its end has arrived with its last bytes. */
  boolean hasEnded();

  /**
   * The rest of the body.
   *
   * @param limit in bytes
   * @throws PodException also when the body is longer than {@code limit}
   */
  byte[] readAll(int limit) throws PodException;

  /** Gives up what is left of the body. Idempotent. */
  @Override
  void close();
}
