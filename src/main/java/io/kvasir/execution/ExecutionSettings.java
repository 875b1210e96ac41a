package io.kvasir.execution;

import java.time.Duration;

/**
 * Limits of carrying out one request.
 *
 * @param tries workers one request is sent to at most, at least 1
 * @param firstPause the pause before the second try; each further one is {@code pauseFactor} times longer, up
 *     to {@code longestPause}; half to the whole of it is waited, at random, so that requests that failed
 *     together do not come back together
 * @param longestPause the longest pause
 * @param pauseFactor growth of the pause, at least 1
 * @param firstByte from sending a request to a worker to the first byte of its answer's body: queue and prefill
 *     included
 * @param idle between two pieces of an answer's body
 * @param total from the first try to the end of the answer
 * @param wholeBytes an answer that is no stream is gathered up to this size before anything goes to the
 *     client, so that one cut short can still be tried elsewhere; longer ones are relayed as they come
 */
public record ExecutionSettings(
    int tries,
    Duration firstPause,
    Duration longestPause,
    double pauseFactor,
    Duration firstByte,
    Duration idle,
    Duration total,
    int wholeBytes) {

  /** Refuses limits that cannot work. */
  public ExecutionSettings {
    if (tries < 1 || pauseFactor < 1 || wholeBytes < 1) {
      throw new IllegalArgumentException(
          "tries, pauseFactor and wholeBytes must be at least 1, not %d, %s and %d"
              .formatted(tries, pauseFactor, wholeBytes));
    }
  }

  /** What suits engines: a prefill may take minutes, an answer an hour. */
  public static ExecutionSettings defaults() {
    return new ExecutionSettings(
        5,
        Duration.ofMillis(50),
        Duration.ofSeconds(30),
        1.5,
        Duration.ofMinutes(10),
        Duration.ofMinutes(2),
        Duration.ofHours(1),
        1 << 20);
  }
}
