package io.kvasir.sim.settings;

import java.util.Arrays;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/**
 * A fault that a simulated engine injects into the requests for work ({@code POST
 * /v1/…}).
 *
 * @param kind the fault
 * @param probability share of requests it happens to, 0 to 1
 * @param first how many requests it happens to for certain before {@code probability} counts
 */
public record InjectedFault(Kind kind, double probability, int first) {

  public static final long SLOW_NANOS = TimeUnit.MILLISECONDS.toNanos(250);

  /** What can go wrong. */
  public enum Kind {
    /** Answered with 500 before any work. */
    STATUS_500("500"),
    /** Answered with 503 before any work. */
    STATUS_503("503"),
    /** Answered with 429 before any work. */
    STATUS_429("429"),
    /** The connection is reset before any answer. */
    RESET("reset"),
    /** Accepted and never answered. */
    HANG("hang"),
    /** Answered with status 200 and nothing after the head; an answer that is not streamed never comes. */
    HANG_AFTER_HEAD("hang-after-head"),
    /** The stream falls silent after a few tokens; an answer that is not streamed never comes. */
    HANG_MIDWAY("hang-midway"),
    /** The connection is dropped within the answer. */
    CUT("cut"),
    /** The stream ends well, but for its terminator; an answer that is not streamed is cut. */
    NO_END("no-end"),
    /** Every event of the stream, or the answer, comes a quarter of a second late. */
    SLOW("slow"),
    /** An error arrives inside the stream, after status 200; an answer that is not streamed gets a 500. */
    STREAM_ERROR("stream-error");

    private final String key;

    Kind(String word) {
      this.key = word;
    }

    /** Whether it ends a stream after a few tokens. */
    public boolean breaksStreams() {
      return this == CUT || this == STREAM_ERROR || this == HANG_MIDWAY;
    }
  }

  /**
   * Reads {@code KIND=SHARE} or {@code KIND=COUNTx}: {@code 503=0.05} for every twentieth request,
   * {@code hang=2x} for the first two.
   *
   * @throws IllegalArgumentException when the text is malformed; the message has the reason
   */
  public static InjectedFault parse(String text) {
    String[] parts = text.split("=", 2);
    Kind kind =
        Arrays.stream(Kind.values())
            .filter(k -> k.key.equals(parts[0].toLowerCase(Locale.ROOT)))
            .findFirst()
            .orElseThrow(() -> new IllegalArgumentException(
                "fault '" + text + "': '" + parts[0] + "' is not one of "
                    + Arrays.stream(Kind.values()).map(k -> k.key).collect(Collectors.joining(", "))));
    String amount = parts.length == 2 ? parts[1] : "";
    try {
      if (amount.endsWith("x")) {
        int first = Integer.parseInt(amount.substring(0, amount.length() - 1));
        if (first >= 0) {
          return new InjectedFault(kind, 0, first);
        }
      } else {
        double probability = Double.parseDouble(amount);
        if (probability >= 0 && probability <= 1) {
          return new InjectedFault(kind, probability, 0);
        }
      }
    } catch (NumberFormatException e) {
      // reported below, with everything else that is no amount
    }
    throw new IllegalArgumentException(
        "fault '" + text + "': give a share from 0 to 1, such as " + kind.key
            + "=0.05, or a number of requests, such as " + kind.key + "=2x");
  }
}
