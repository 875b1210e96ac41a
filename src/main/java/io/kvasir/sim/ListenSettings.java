package io.kvasir.sim;

import java.time.Duration;

/**
 * How a simulated engine listens, and as which engine it answers.
 *
 * @param host interface to listen on
 * @param port HTTP port; 0 for a free one
 * @param healthDelay how long {@code /health} takes to answer
 * @param keepAlive how long an idle connection stays open
 * @param api the engine that it acts as
 * @param developerMode whether, as vLLM with {@code VLLM_SERVER_DEV_MODE=1}, it shows its whole configuration
 */
public record ListenSettings(
    String host, int port, Duration healthDelay, Duration keepAlive, EngineApi api, boolean developerMode) {
  /** These, on another port. */
  ListenSettings withPort(int other) {
    return new ListenSettings(host, other, healthDelay, keepAlive, api, developerMode);
  }

  void validate(SettingFaults faults) {
    faults.checkPort("port", port, 1);
    if (healthDelay.isNegative()) {
      faults.add("health-delay: must not be negative");
    }
    if (keepAlive.toMillis() < 1) {
      faults.add("keep-alive: must be at least a millisecond");
    }
  }
}
