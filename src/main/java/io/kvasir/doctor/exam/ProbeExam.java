package io.kvasir.doctor.exam;

import org.jspecify.annotations.Nullable;

/**
 * Two equal requests of some blocks, the second of which should be served from the cache.
 *
 * @param model that was requested
 * @param blocks full blocks of the prompt
 * @param blockSize tokens in each
 * @param failure why one of them was not answered, null when both were
 * @param cachedTokens tokens of the second prompt that the engine found in its cache; null when it does not report them
 * @param events what the engine's events said of the first one; null when they could not be listened to
 */
public record ProbeExam(
    String model,
    int blocks,
    int blockSize,
    @Nullable String failure,
    @Nullable Integer cachedTokens,
    @Nullable ProbeEvents events) {
  /**
   * What an engine's events said of a prompt.
   *
   * @param published blocks of the prompt that were stored, by their tokens
   * @param promised of these, the blocks that the router would find for the second request, by their hashes
   * @param key the engine's own hash of the first block, null when none was stored
   */
  public record ProbeEvents(int published, int promised, @Nullable Long key) {}
}
