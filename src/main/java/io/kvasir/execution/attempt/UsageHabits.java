package io.kvasir.execution.attempt;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.kvasir.cell.Outcome;
import io.kvasir.http.ApiPath;
import org.jspecify.annotations.Nullable;

/**
 * What it means that an answer's usage has no figure of cached tokens. Up to vLLM 0.23 and SGLang 0.5.21 engines leave
 * it out where they found nothing, others leave it out always, and none says which it does: its earlier answers by the
 * same API show it. An engine that has reported cached tokens, but never zero of them, has found none where it reports
 * none; until too often something was expected, for then another engine is behind the pod's address. Thread-safe.
 */
public final class UsageHabits {
  /** Answers in a row that are taken to have found nothing although something was expected. */
  static final int MOST_MISSES = 64;

  private static final int MOST_SOURCES = 1 << 14;

  private final Cache<Source, Habit> habits = Caffeine.newBuilder().maximumSize(MOST_SOURCES).build();

  private record Source(String pod, ApiPath api) {}

  /**
   * What answers of a source have had.
   *
   * @param zero whether one has reported that nothing was cached
   * @param more whether one has reported that something was
   * @param misses how many since then have had no figure where something was expected
   */
  private record Habit(boolean zero, boolean more, int misses) {
    static final Habit UNKNOWN = new Habit(false, false, 0);

    Habit afterReport(int cached) {
      return new Habit(zero || cached == 0, more || cached > 0, 0);
    }

    Habit afterMiss() {
      return misses < MOST_MISSES ? new Habit(zero, more, misses + 1) : UNKNOWN;
    }

    boolean leavesOutZero() {
      return more && !zero;
    }
  }

  /**
   * Tokens of the prompt that an answer's engine found in its cache, {@link Outcome#UNKNOWN} when that is not known.
   *
   * @param api by which the engine answered, null for one that the router does not know
   * @param prompt tokens of the prompt as usage has them, {@link Outcome#UNKNOWN} without usage
   * @param reported cached tokens as usage has them, {@link Outcome#UNKNOWN} without a figure
   * @param expected cached tokens as the index had them
   */
  int cachedTokens(String pod, @Nullable ApiPath api, int prompt, int reported, int expected) {
    if (api == null || prompt == Outcome.UNKNOWN) {
      return reported;
    }
    Source source = new Source(pod, api);
    Habit before = habits.get(source, _ -> Habit.UNKNOWN);
    Habit now = reported != Outcome.UNKNOWN ? before.afterReport(reported)
        : before.leavesOutZero() && expected > 0 ? before.afterMiss()
        : before;
    if (!now.equals(before)) {
      habits.put(source, now);
    }
    return reported == Outcome.UNKNOWN && now.leavesOutZero() ? 0 : reported;
  }
}
