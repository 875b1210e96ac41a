package io.kvasir.app.command;

import io.kvasir.sim.settings.EngineApi;
import io.kvasir.sim.settings.SimSettings;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options of {@code kvasir sim} for the engine that it acts as, and what that one tells of itself. */
final class ActingOptions {
  @Option(
      names = "--act-as",
      description = {
        "vllm, sglang, tensorrt-llm, llm-d or dynamo: what it answers when asked what it is, its metrics, and unless",
        "--event-encoding and --dialect are given, its events and how it hands KV over. Default: the engine of",
        "--dialect, else vllm."
      })
  private @Nullable String api;

  @Option(
      names = "--dev-mode",
      description = "Show the whole configuration, as vLLM with VLLM_SERVER_DEV_MODE=1 does.")
  private boolean developerMode;

  @Option(
      names = "--grpc-port",
      description = "Tell where events are by vLLM's gRPC at this port only, as its frontend in Rust before 0.31.")
  private @Nullable Integer grpcPort;

  @Option(names = "--no-prefix-caching", description = "Keep no prefixes for later requests.")
  private boolean noPrefixCaching;

  @Option(
      names = "--sessions",
      description = {
        "Evict what requests with a session_id have used after all else, until /close_session,",
        "as SGLang with --enable-session-radix-cache does."
      })
  private boolean sessions;

  /** The engine that was given; null for none. */
  @Nullable EngineApi api(List<String> wrong) {
    try {
      return api == null ? null : EngineApi.parse(api);
    } catch (IllegalArgumentException unknown) {
      wrong.add("act-as: " + unknown.getMessage());
      return null;
    }
  }

  /** Adds the others to the settings. */
  SimSettings.Builder apply(SimSettings.Builder settings) {
    return settings.developerMode(developerMode).grpcPort(grpcPort).prefixCaching(!noPrefixCaching)
        .sessions(sessions);
  }
}
