package io.kvasir.enginemodel;

/**
 * The link to host memory: the time to load tokens, which the step that needs them waits for.
 *
 * @param tokenUs microseconds per token
 * @param setUpMs milliseconds for a step that loads anything
 */
public record HostLink(double tokenUs, double setUpMs) {
  /** A link that moves {@code gbps} gigabits a second for tokens of {@code bytesPerToken} bytes. */
  public static HostLink of(double gbps, double bytesPerToken, double setUpMs) {
    return new HostLink(bytesPerToken * 8 / (gbps * 1e3), setUpMs);
  }

  /** The milliseconds that loading adds to {@code step}; 0 when it loads nothing. */
  public double millis(EngineStep<?> step) {
    return step.loadedTokens() == 0 ? 0 : setUpMs + tokenUs * 1e-3 * step.loadedTokens();
  }
}
