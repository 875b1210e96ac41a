package io.kvasir.prompt;

import java.time.Duration;

/**
 * The settings of all models' prompts together.
 *
 * @param memoBytes limit of the cache of prompt prefixes, in bytes
 * @param preparations large requests that are prepared at a time, at least 1
 * @param preparationWait how long one waits for its turn, at most
 */
public record PromptSettings(long memoBytes, int preparations, Duration preparationWait) {
  private static final Duration WAIT = Duration.ofSeconds(10);

  /** Settings for this machine: all processors but one prepare large requests. */
  public static PromptSettings ofMemo(long memoBytes) {
    return new PromptSettings(memoBytes, processorsButOne(), WAIT);
  }

  /** The processors of this machine but one, at least 1. */
  public static int processorsButOne() {
    return Math.max(1, Runtime.getRuntime().availableProcessors() - 1);
  }
}
