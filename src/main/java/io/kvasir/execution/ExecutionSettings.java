package io.kvasir.execution;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Limits of carrying out one request.
 *
 * @param retries how often, and how soon, a request is tried again
 * @param firstByte from sending a request to a worker to the first byte of its answer's body: queue and prefill
 *     included
 * @param idle between two pieces of an answer's body
 * @param stranded how long nothing may come from a worker that is out of service while others could serve; null for as
 *     long as from any
 * @param total from the first try to the end of the answer
 * @param maxBufferedBytes an answer that is no stream is gathered up to this size before anything goes to the
 *     client, so that one cut short can still be tried elsewhere; longer ones are relayed as they come
 * @param hedgeAfter when a request that has no answer yet goes to a second worker, too; null for never
 * @param workflows requests at once that take several steps or a retry; beyond them the first failure is final
 * @param disconnects what becomes of requests under which workers' connections end
 * @param webSocketIdle how long nothing may pass on a WebSocket, in either direction
 */
public record ExecutionSettings(
    Retries retries,
    Duration firstByte,
    Duration idle,
    @Nullable Duration stranded,
    Duration total,
    int maxBufferedBytes,
    @Nullable Duration hedgeAfter,
    int workflows,
    Disconnects disconnects,
    Duration webSocketIdle) {
  private static final Duration WEB_SOCKET_IDLE = Duration.ofMinutes(10);

  /**
   * What becomes of requests under which workers' connections end after they were sent.
   *
   * @param most workers of which one request may end the connections, at least 1; it is tried on no other then
   * @param quarantine how long the same request is refused then, null for not at all
   */
  public record Disconnects(int most, @Nullable Duration quarantine) {
    /** Two workers, and a minute. */
    public static final Disconnects DEFAULTS = new Disconnects(2, Duration.ofMinutes(1));

    /** Refuses limits that cannot work. */
    public Disconnects {
      if (most < 1) {
        throw new IllegalArgumentException("most must be at least 1, not " + most);
      }
    }
  }

  /**
   * When a request is tried again.
   *
   * @param tries workers one request is sent to at most, at least 1; the steps of one plan count as one
   * @param firstPause the pause before the second try; each further one is {@code pauseFactor} times longer, up
   *     to {@code longestPause}; half to the whole of it is waited, at random, so that requests that failed
   *     together do not come back together
   * @param longestPause the longest pause
   * @param pauseFactor growth of the pause, at least 1
   * @param share retries may be this share of all requests, 0 or more, so that a fleet that is failing is not
   *     burdened further
   * @param perSecond retries of a second that are free of that, 0 or more
   */
  public record Retries(
      int tries, Duration firstPause, Duration longestPause, double pauseFactor, double share, int perSecond) {
    /** Refuses limits that cannot work. */
    public Retries {
      if (tries < 1 || pauseFactor < 1 || share < 0 || perSecond < 0) {
        throw new IllegalArgumentException(
            "tries and pauseFactor must be at least 1, share and perSecond at least 0, not %d, %s, %s and %d"
                .formatted(tries, pauseFactor, share, perSecond));
      }
    }
  }

  /** Limits with the usual ones for requests under which connections end, and none for stranded requests. */
  public ExecutionSettings(
      Retries retries,
      Duration firstByte,
      Duration idle,
      Duration total,
      int maxBufferedBytes,
      @Nullable Duration hedgeAfter,
      int workflows) {
    this(
        retries, firstByte, idle, null, total, maxBufferedBytes, hedgeAfter, workflows, Disconnects.DEFAULTS,
        WEB_SOCKET_IDLE);
  }

  /** The same with another limit for silent WebSockets. */
  public ExecutionSettings withWebSocketIdle(Duration other) {
    return new ExecutionSettings(
        retries, firstByte, idle, stranded, total, maxBufferedBytes, hedgeAfter, workflows, disconnects, other);
  }

  /** The same with a limit for requests at workers that are out of service. */
  public ExecutionSettings withStranded(Duration limit) {
    return new ExecutionSettings(
        retries, firstByte, idle, limit, total, maxBufferedBytes, hedgeAfter, workflows, disconnects, webSocketIdle);
  }

  /** Refuses limits that cannot work. */
  public ExecutionSettings {
    if (maxBufferedBytes < 1 || workflows < 1) {
      throw new IllegalArgumentException(
          "maxBufferedBytes and workflows must be at least 1, not %d and %d".formatted(maxBufferedBytes, workflows));
    }
  }

  /** Limits that suit engines: a prefill may take minutes, a response an hour. */
  public static ExecutionSettings defaults() {
    return new ExecutionSettings(
        new Retries(5, Duration.ofMillis(50), Duration.ofSeconds(30), 1.5, 0.2, 10),
        Duration.ofMinutes(10),
        Duration.ofMinutes(2),
        Duration.ofHours(1),
        1 << 20,
        null,
        100_000);
  }
}
