package io.kvasir.answers;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** Answers in this process's memory, bounded in bytes; the least worth keeping give way. */
final class MemoryStore implements AnswerStore {
  /** What an entry takes beside the answer's bytes: its key, objects, headers of arrays, the map's node. */
  private static final int OVERHEAD = 320;

  private final AtomicLong flushes = new AtomicLong();
  private final Cache<AnswerKey, StoredAnswer> answers;

  MemoryStore(AnswerSettings.StoreSettings.Memory settings, Duration ttl, AnswerMetrics metrics) {
    answers = Caffeine.newBuilder()
        .maximumWeight(settings.bytes())
        .weigher((AnswerKey _, StoredAnswer answer) -> weight(answer))
        .expireAfterWrite(ttl)
        .executor(Runnable::run)
        .evictionListener((key, answer, cause) -> metrics.evicted(cause.name()))
        .build();
  }

  private static int weight(StoredAnswer answer) {
    return (int) Math.min(Integer.MAX_VALUE, (long) OVERHEAD + answer.body().length);
  }

  @Override
  public StoreResult find(AnswerKey key) {
    long mark = flushes.get();
    return new StoreResult.Fetched(answers.getIfPresent(key), mark);
  }

  @Override
  public boolean put(AnswerKey key, StoredAnswer answer, long mark) {
    if (flushes.get() != mark) {
      return false;
    }
    answers.put(key, answer);
    if (flushes.get() != mark) {
      // A flush that came in between may have passed this entry by.
      answers.asMap().remove(key, answer);
      return false;
    }
    return true;
  }

  @Override
  public OptionalLong flush(@Nullable String tenant, @Nullable String model) {
    flushes.incrementAndGet();
    List<AnswerKey> meant = new ArrayList<>();
    for (AnswerKey key : answers.asMap().keySet()) {
      if (key.matches(tenant, model)) {
        meant.add(key);
      }
    }
    answers.invalidateAll(meant);
    return OptionalLong.of(meant.size());
  }

  @Override
  public String name() {
    return "memory";
  }

  @Override
  public OptionalLong entries() {
    answers.cleanUp();
    return OptionalLong.of(answers.estimatedSize());
  }

  @Override
  public OptionalLong bytes() {
    return answers.policy().eviction().map(bound -> bound.weightedSize().orElse(0)).map(OptionalLong::of)
        .orElse(OptionalLong.empty());
  }

  @Override
  public Optional<String> outage() {
    return Optional.empty();
  }

  @Override
  public Optional<String> refusal() {
    return Optional.empty();
  }

  @Override
  public void close() {
    answers.invalidateAll();
  }
}
