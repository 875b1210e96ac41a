package io.kvasir.doctor.exam;

import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The events of one rank that came while it was examined.
 *
 * @param messages how many came
 * @param topics the topics they had, 16 at most
 * @param faulty how many could not be decoded whole
 * @param fault the first fault in words, null without one
 * @param clockAheadMillis how far the engine's clock is ahead of ours by its latest message, transport included;
 *     negative when it is behind, null when no message told the time
 * @param blockSizes tokens in the blocks that were stored
 */
public record EventsSeen(
    int messages,
    Set<String> topics,
    int faulty,
    @Nullable String fault,
    @Nullable Long clockAheadMillis,
    Set<Integer> blockSizes) {
  /** None. */
  public static final EventsSeen NONE = new EventsSeen(0, Set.of(), 0, null, null, Set.of());

  /** Copies the sets. */
  public EventsSeen {
    topics = Set.copyOf(topics);
    blockSizes = Set.copyOf(blockSizes);
  }
}
