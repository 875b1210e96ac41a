package io.kvasir.http;

import java.io.IOException;

/**
 * A sink that can be written without waiting: what the receiver does not take at once is kept, and somebody who may
 * wait has it taken before more is written. So one thread can write to many receivers, of which some are slow.
 */
public interface DeferringSink extends ByteSink {
  /** Whether {@link #offer} can be used: not where writing always waits, as with TLS. */
  boolean canOffer();

  /**
   * Writes bytes without waiting. What is not taken at once is kept.
   *
   * @param bytes free again on return
   * @throws IOException when the receiver takes no more
   */
  void offer(byte[] bytes, int offset, int length) throws IOException;

  /** Whether something is kept. Then nothing more should be offered before {@link #flush}. */
  boolean isBehind();

  /**
   * Waits until what is kept has been taken.
   *
   * @throws IOException when the receiver takes no more
   */
  void flush() throws IOException;
}
