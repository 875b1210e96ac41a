package io.kvasir.limits;

/**
 * What is known of a request's work before it runs. Immutable.
 *
 * @param promptTokens tokens of its prompt
 * @param mostOutput most tokens that may be generated, {@link #UNBOUNDED} when it does not say
 */
public record Demand(long promptTokens, long mostOutput) {
  /** The request sets no bound on its output. */
  public static final long UNBOUNDED = -1;
}
