package io.kvasir.prompt;

/** How long the parts of one prompt's preparation took. Used by one thread at a time. */
public final class PromptTimes {
  /** What was not done, such as a template in a mode without one. */
  public static final long NONE = -1;

  private long template = NONE;
  private long tokens = NONE;

  /** Nanoseconds in the chat template, or {@link #NONE}. */
  public long templateNanos() {
    return template;
  }

  /** Nanoseconds to find the tokens and their blocks, the engine's answer included; or {@link #NONE}. */
  public long tokensNanos() {
    return tokens;
  }

  void addTemplate(long nanos) {
    template = Math.max(template, 0) + nanos;
  }

  void addTokens(long nanos) {
    tokens = Math.max(tokens, 0) + nanos;
  }
}
