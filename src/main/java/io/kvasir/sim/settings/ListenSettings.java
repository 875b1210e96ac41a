package io.kvasir.sim.settings;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * How a simulated engine listens, and as which engine it answers.
 *
 * @param host interface to listen on
 * @param port HTTP port; 0 for a free one
 * @param healthDelay how long {@code /health} takes to answer
 * @param keepAlive how long an idle connection stays open
 * @param api the engine that it acts as
 * @param developerMode whether, as vLLM with {@code VLLM_SERVER_DEV_MODE=1}, it shows its whole configuration
 * @param grpcPort port of vLLM's gRPC, 0 for a free one, null without; with it the engine acts as vLLM's frontend in
 *     Rust before 0.31, which tells where its cache events are over gRPC only
 */
public record ListenSettings(
    String host,
    int port,
    Duration healthDelay,
    Duration keepAlive,
    EngineApi api,
    boolean developerMode,
    @Nullable Integer grpcPort) {
  /** These, on other ports. */
  public ListenSettings withPorts(int other, @Nullable Integer otherGrpcPort) {
    return new ListenSettings(host, other, healthDelay, keepAlive, api, developerMode, otherGrpcPort);
  }

  void validate(SettingFaults faults) {
    faults.checkPort("port", port, 1);
    if (grpcPort != null) {
      faults.checkPort("grpc-port", grpcPort, 1);
      if (api != EngineApi.VLLM) {
        faults.add("grpc-port: only an engine with --act-as vllm has vLLM's gRPC");
      }
    }
    if (healthDelay.isNegative()) {
      faults.add("health-delay-ms: must not be negative");
    }
    if (keepAlive.toMillis() < 1) {
      faults.add("keep-alive: must be at least a millisecond");
    }
  }
}
