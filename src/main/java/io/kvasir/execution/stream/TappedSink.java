package io.kvasir.execution.stream;

import io.kvasir.http.DeferringSink;

/**
 * A sink of an event stream that reads the events. It does so with the tap of whoever relays the stream, so that the
 * bytes are scanned once. One thread at a time.
 */
public interface TappedSink extends DeferringSink {
  /**
   * What is written from now on, up to the next call, are the bytes of one worker's stream, cut anywhere.
   *
   * @param tap an event stream's that has seen nothing yet; the sink shows it the bytes, nobody else does
   */
  void beginStream(AnswerTap tap);

  /** The worker's stream has ended, by itself or in the middle of an event; the tap knows it then, too. */
  void endStream();

  /**
   * Whether another worker may go on from where the stream is, as far as can be seen before it is cut. May take as long
   * as reading the client's request does. Any thread.
   */
  boolean mayBeContinued();
}
