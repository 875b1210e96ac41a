package io.kvasir.http.client;

import java.io.IOException;

/** A connection that {@link PodCall}s have one after the other. Reading and writing wait. */
abstract sealed class CallConnection extends PodConnection permits PlainConnection, EncryptedConnection {
  CallConnection(PodOrigin origin) throws IOException {
    super(origin);
  }

  /** Writes all of it. */
  abstract void write(byte[] bytes, int offset, int length) throws IOException;

  /**
   * Begins another call on a connection that has been idle; false when the pod has closed it, or sent something that
   * nobody requested. Does not wait.
   */
  abstract boolean reuse();

  /** Whether the caller runs on the thread that watches it, so that answers reach the caller without another. */
  abstract boolean isNear();
}
