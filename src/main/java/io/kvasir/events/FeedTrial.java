package io.kvasir.events;

import java.io.IOException;
import java.time.Duration;
import java.util.List;

/**
 * A feed of one worker's events that is tried for a moment, without a stream: which step does not work, and what comes.
 * It takes nothing away from others that read the feed. One thread at a time, but for {@link #close}.
 */
public interface FeedTrial extends AutoCloseable {
  /** What is read and where, without passwords. */
  String place();

  /**
   * Connects, and goes to the end of what is kept.
   *
   * @return how many messages are kept, -1 when that is not told
   * @throws IOException when that is not possible; the message says which step is not
   */
  long begin() throws IOException, InterruptedException;

  /**
   * The messages that have come since, after those of the last call; waits for the first of them. The payload of one
   * that has no events where they should be is taken for empty, which is a fault of its decoding.
   *
   * @return empty when none comes in time
   * @throws IOException when the connection is lost
   */
  List<DecodedMessage> next(Duration timeout) throws IOException, InterruptedException;

  /** Ends it; nothing fails that matters. */
  @Override
  void close();
}
