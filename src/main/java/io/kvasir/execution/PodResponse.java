package io.kvasir.execution;

/**
 * The head of a pod's answer, and its body as it comes. One thread at a time. The connection goes back to
 * the pool when the body was read to its end; {@link #close} before that closes it.
 */
public final class PodResponse implements AutoCloseable {
  /** HTTP status, 200..599: informational answers are skipped. */
  public int status() {
    throw new UnsupportedOperationException("not built yet");
  }

  /** The answer's headers as they came, hop-by-hop ones included. */
  public Headers headers() {
    throw new UnsupportedOperationException("not built yet");
  }

  /** Length of the body in bytes when the head says it, 0 when there is none by rule, otherwise -1. */
  public long contentLength() {
    throw new UnsupportedOperationException("not built yet");
  }

  /**
   * Reads what has arrived of the body, transfer coding removed; waits for at least one byte.
   *
   * @return how many bytes, -1 at the end of the body
   * @throws PodException when the body is cut short, late or malformed, or the call was aborted
   */
  public int read(byte[] bytes, int offset, int length) throws PodException {
    throw new UnsupportedOperationException("not built yet");
  }

  /**
   * The rest of the body.
   *
   * @param limit in bytes
   * @throws PodException also when the body is longer than {@code limit}
   */
  public byte[] readAll(int limit) throws PodException {
    throw new UnsupportedOperationException("not built yet");
  }

  /** Gives the connection back when the body was read to its end, closes it otherwise. Idempotent. */
  @Override
  public void close() {}
}
