package io.kvasir.execution.stream;

/** The tokens that an answer reports, of which later figures replace earlier ones. One thread at a time. */
final class TokenCounts {
  /** A count the answer has not named. */
  static final long NONE = -1;

  private long prompt = NONE;
  private long output = NONE;
  private long cached = NONE;
  private long cacheRead = NONE;
  private long cacheCreation = NONE;

  /** Takes the number that is a member's value; one that is no count is left out. */
  void take(AnswerMember member, long number) {
    switch (member) {
      case PROMPT -> prompt = number;
      case OUTPUT -> output = number;
      case CACHED -> cached = number;
      case CACHE_READ -> cacheRead = number;
      case CACHE_CREATION -> cacheCreation = number;
      case NOTHING, ERROR, TYPE, ID, CHOICES, NESTED, USAGE, DETAILS, ENDING, FINISH_REASON, STATUS -> {
        // No count.
      }
    }
  }

  /**
   * Tokens of the prompt. Anthropic's {@code input_tokens} leaves out what was read from or written to
   * the cache, so those are added.
   */
  long prompt() {
    return prompt == NONE ? NONE : prompt + Math.max(cacheRead, 0) + Math.max(cacheCreation, 0);
  }

  /** Tokens of the prompt found in the cache; more than it has are no count. */
  long cached() {
    long found = cached != NONE ? cached : cacheRead;
    return prompt != NONE && found > prompt() ? NONE : found;
  }

  /** Tokens generated. */
  long output() {
    return output;
  }
}
