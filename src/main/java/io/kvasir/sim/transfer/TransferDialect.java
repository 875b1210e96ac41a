package io.kvasir.sim.transfer;

import io.kvasir.routing.Role;
import java.time.Duration;
import java.util.Locale;

/** How an engine family moves KV from a prefill to a decode engine, and how long each side waits for the other. */
public enum TransferDialect {
  /** Nothing is moved. */
  NONE(0, 0),
  /** vLLM's NixlConnector since 0.22: the decode engine pulls; a lease that its heartbeats extend. */
  VLLM_NIXL(30, 0),
  /** vLLM's NixlConnector before: flat block ids, no heartbeats, a long fixed time. */
  VLLM_NIXL_OLD(480, 0),
  /** vLLM's NixlPushConnector: the prefill engine pushes, the legs may be sent at once. */
  VLLM_PUSH(480, 480),
  /** vLLM's MooncakeConnector: legs at once, matched by transfer id through a bootstrap server. */
  VLLM_MOONCAKE(480, 480),
  /** vLLM's tier of peers below its host memory: a request names the engine from which this one may pull. */
  VLLM_P2P(30, 30),
  /** SGLang: legs at once, matched by bootstrap room. */
  SGLANG(300, 300),
  /** TensorRT-LLM: a context request, then a generation request. */
  TENSORRT_LLM(60, 60);

  private static final int MOONCAKE_BOOTSTRAP_PORT = 8998;
  private static final int NIXL_SIDE_CHANNEL_PORT = 5600;

  private final Duration lease;
  private final Duration watchdog;

  TransferDialect(int leaseSeconds, int watchdogSeconds) {
    lease = Duration.ofSeconds(leaseSeconds);
    watchdog = Duration.ofSeconds(watchdogSeconds);
  }

  /** How long a prefill engine keeps blocks that are not fetched. */
  public Duration lease() {
    return lease;
  }

  /**
   * The port at which the others look for an engine that computes prompts, since it announces none: the real engine's
   * default. 0 where it announces its own, or only takes blocks.
   */
  public int assumedPort(Role role) {
    return switch (this) {
      case VLLM_MOONCAKE -> role == Role.DECODE ? 0 : MOONCAKE_BOOTSTRAP_PORT;
      case VLLM_PUSH -> role == Role.DECODE ? 0 : NIXL_SIDE_CHANNEL_PORT;
      case NONE, VLLM_NIXL, VLLM_NIXL_OLD, VLLM_P2P, SGLANG, TENSORRT_LLM -> 0;
    };
  }

  /** How long an engine waits for the other one of a transfer. */
  public Duration watchdog() {
    return watchdog;
  }

  /** Such as {@code vllm-nixl}. */
  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
