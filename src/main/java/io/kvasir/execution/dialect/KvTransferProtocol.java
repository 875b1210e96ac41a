package io.kvasir.execution.dialect;

import io.kvasir.http.ApiPath;
import io.kvasir.routing.KvTransfer;
import io.kvasir.routing.Worker;
import java.net.URI;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * How an engine family splits a request: one worker computes the prompt, another generates. Pure and thread-safe.
 * Whether both requests are sent at once, and whether a decode worker can do without prefill, is the {@link
 * KvTransfer.Dialect}'s own to say.
 */
public interface KvTransferProtocol {
  /** The protocol of a dialect. */
  static KvTransferProtocol of(KvTransfer.Dialect dialect) {
    return switch (dialect) {
      case VLLM_NIXL -> NixlPull.INSTANCE;
      case VLLM_PUSH -> NixlPush.INSTANCE;
      case VLLM_MOONCAKE -> Mooncake.INSTANCE;
      case SGLANG -> Sglang.INSTANCE;
      case TENSORRT_LLM -> TensorRtLlm.INSTANCE;
      case VLLM_P2P -> PeerTier.INSTANCE;
    };
  }

  /** Why a request has to stay on one worker, in a few words; null when it can be split. */
  @Nullable String unsupportedReason(ClientRequest request);

  /** The address that has to be read at the prefill worker's pod first; null without one. */
  default @Nullable URI bootstrap(Worker prefill) {
    return null;
  }

  /** The prefill worker's request. */
  EngineRequest prefill(SplitRequest split);

  /** What the prefill worker's response, a 2xx, means; not called where both requests are sent at once. */
  default PrefillResult prefillResult(SplitRequest split, byte[] answer) {
    return PrefillResult.KvBlocks.NOT_AWAITED;
  }

  /**
   * The decode worker's request.
   *
   * @param blocks what prefill handed over, {@link PrefillResult.KvBlocks#NOT_AWAITED} where both requests are sent at
   *     once
   */
  EngineRequest decode(SplitRequest split, PrefillResult.KvBlocks blocks);

  /**
   * Whether requests to an API are split as the chats that they can be translated into.
   *
   * @param splitByBoth the APIs whose requests both engines are known to split themselves, beside chats and completions
   */
  default boolean splitsAsChat(@Nullable ApiPath api, Set<ApiPath> splitByBoth) {
    return false;
  }
}
