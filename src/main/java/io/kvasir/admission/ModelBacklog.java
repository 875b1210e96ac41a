package io.kvasir.admission;

/**
 * The requests for a model that wait in a room, of all classes.
 *
 * @param model as the requests name it
 * @param requests how many
 * @param promptTokens of their prompts
 * @param tokens of these, what workers will have to compute, as far as is known; of requests that wait for room for
 *     their programs none
 * @param heldTokens of the prompts of requests that wait for room for their programs
 * @param oldestMillis how long the first of them has waited
 */
public record ModelBacklog(
    String model, int requests, long promptTokens, long tokens, long heldTokens, long oldestMillis) {
  /** This and another one of the same model. */
  public ModelBacklog and(ModelBacklog other) {
    return new ModelBacklog(
        model, requests + other.requests, promptTokens + other.promptTokens, tokens + other.tokens,
        heldTokens + other.heldTokens, Math.max(oldestMillis, other.oldestMillis));
  }
}
