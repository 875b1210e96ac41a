package io.kvasir.sim.settings;

import io.kvasir.sim.publisher.EventFormat.Encoding;
import io.kvasir.sim.transfer.TransferDialect;
import java.util.Arrays;
import java.util.Locale;

/** The engines that a simulated one can act as: what it answers when it is asked what it is, and its metrics. */
public enum EngineApi {
  VLLM, SGLANG, TENSORRT_LLM,
  /** llm-d's simulator of vLLM. */
  LLM_D,
  /** Dynamo's frontend, with the ranks as workers behind it. */
  DYNAMO;

  /**
   * Reads a name.
   *
   * @throws IllegalArgumentException when there is none of that name; the message lists those that there are
   */
  public static EngineApi parse(String name) {
    return Arrays.stream(values())
        .filter(api -> api.toString().equals(name.toLowerCase(Locale.ROOT)))
        .findFirst()
        .orElseThrow(() ->
            new IllegalArgumentException("'" + name + "' is not one of " + Arrays.toString(values())));
  }

  /** The engine whose way of handing KV blocks over that is. */
  public static EngineApi of(TransferDialect dialect) {
    return switch (dialect) {
      case SGLANG -> SGLANG;
      case TENSORRT_LLM -> TENSORRT_LLM;
      case NONE, VLLM_NIXL, VLLM_NIXL_OLD, VLLM_PUSH, VLLM_MOONCAKE, VLLM_P2P -> VLLM;
    };
  }

  /** The way in which such engines hand KV blocks over by default. */
  public TransferDialect usualDialect() {
    return switch (this) {
      case SGLANG -> TransferDialect.SGLANG;
      case TENSORRT_LLM -> TransferDialect.TENSORRT_LLM;
      case VLLM, LLM_D, DYNAMO -> TransferDialect.VLLM_NIXL;
    };
  }

  /** The encoding of such engines' events. */
  public Encoding encoding() {
    return switch (this) {
      case SGLANG -> Encoding.SGLANG;
      case TENSORRT_LLM -> Encoding.TENSORRT_LLM;
      case VLLM, LLM_D, DYNAMO -> Encoding.VLLM_MAP;
    };
  }

  /** Such as {@code tensorrt-llm}. */
  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
