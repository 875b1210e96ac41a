package io.kvasir.http;

import java.io.IOException;

/** The receiver of a body's bytes: a client's connection, or a filter in front of it. */
@FunctionalInterface
public interface ByteSink {
  /**
   * Writes bytes. Waits while the receiver is slow.
   *
   * @param bytes free again on return
   * @throws IOException when the receiver takes no more
   */
  void write(byte[] bytes, int offset, int length) throws IOException;
}
