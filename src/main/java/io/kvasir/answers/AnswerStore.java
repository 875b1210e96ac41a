package io.kvasir.answers;

import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** Where answers are kept. Thread-safe; calls may block for a moment, so they belong on virtual threads. */
sealed interface AnswerStore extends AutoCloseable permits MemoryStore, RedisStore {
  /** The result of a lookup. */
  sealed interface StoreResult {
    /**
     * It answered.
     *
     * @param answer null when it has none
     * @param flushCount how often it has been flushed
     */
    record Fetched(@Nullable StoredAnswer answer, long flushCount) implements StoreResult {}

    /** It does not answer. */
    record Unavailable() implements StoreResult {}
  }

  /** Looks an answer up. */
  StoreResult find(AnswerKey key);

  /**
   * Keeps an answer, unless there was a flush since the mark. Fails silently but for metrics.
   *
   * @return whether it is kept
   */
  boolean put(AnswerKey key, StoredAnswer answer, long mark);

  /**
   * Forgets what is within the limits; null is no limit.
   *
   * @return how many answers, empty when it does not know
   * @throws StoreUnavailableException when it cannot be reached
   */
  OptionalLong flush(@Nullable String tenant, @Nullable String model) throws StoreUnavailableException;

  /** Its name, as the configuration has it. */
  String name();

  /** Answers in it, empty when it does not know. */
  OptionalLong entries();

  /** Bytes they take, empty when it does not know. */
  OptionalLong bytes();

  /** Why it is unavailable, empty while it is available. */
  Optional<String> outage();

  /** Why it keeps no answers though it is available, empty while it does. */
  Optional<String> refusal();

  @Override
  void close();
}
