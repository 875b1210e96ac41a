package io.kvasir.doctor.exam;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * A replay of the latest batches of one rank.
 *
 * @param endpoint where it was asked for
 * @param socket what listens there
 * @param answered whether anything came
 * @param kept how many of the latest {@link #BATCHES} batches came; 0 where the latest is not known, as of a rank that
 *     published nothing while it was examined: none were asked for
 * @param last number of the last batch that came, -1 for none
 * @param dropped whether the engine has published more and does not keep them
 * @param covered the time between the first batch that came and the last, null with fewer than two
 */
public record ReplayExam(
    String endpoint,
    PeerSocket socket,
    boolean answered,
    int kept,
    long last,
    boolean dropped,
    @Nullable Duration covered) {
  /** The most batches asked for: engines replay on the thread that publishes. */
  public static final int BATCHES = 200;
}
