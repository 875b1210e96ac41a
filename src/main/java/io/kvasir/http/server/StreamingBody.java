package io.kvasir.http.server;

import java.io.IOException;

/** Writes the body of a streamed answer. */
@FunctionalInterface
public interface StreamingBody {
  /**
   * Writes the whole body. Returning ends the body; throwing cuts the connection, so that the client
   * sees a truncated body and not a complete one.
   */
  void run(BodySink body) throws Exception;

  /** The way to the client. One thread at a time. */
  interface BodySink {
    /**
     * Hands bytes to the client's socket; waits while the client is slow. The array is free again on return.
     * Writing nothing is a no-op.
     *
     * @throws IOException when the client has left
     */
    void write(byte[] bytes, int offset, int length) throws IOException;
  }
}
