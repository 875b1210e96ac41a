package io.kvasir.doctor.exam;

import io.kvasir.engines.EngineDescription;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What was found at one engine.
 *
 * @param target the engine as the router knows it
 * @param description what it told of itself; null when it did not answer
 * @param failure why it did not answer, null when it did
 * @param sources its events by rank; empty where they do not come by ZMQ, or the engine dials the router
 * @param feeds its events by rank, where they come otherwise and can be listened to
 * @param probe null when no request could be sent
 * @param tokens null when it did not answer
 */
public record EngineExam(
    EngineTarget target,
    @Nullable EngineDescription description,
    @Nullable String failure,
    List<SourceExam> sources,
    List<FeedExam> feeds,
    @Nullable ProbeExam probe,
    @Nullable TokenExam tokens) {
  /** Copies the lists. */
  public EngineExam {
    sources = List.copyOf(sources);
    feeds = List.copyOf(feeds);
  }

  /** What came of its events, by rank. */
  public List<EventsSeen> seen() {
    return Stream.concat(sources.stream().map(SourceExam::seen), feeds.stream().map(FeedExam::seen)).toList();
  }

  static EngineExam unreachable(EngineTarget target, String why) {
    return new EngineExam(target, null, why, List.of(), List.of(), null, null);
  }
}
