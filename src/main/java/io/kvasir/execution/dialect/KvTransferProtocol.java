package io.kvasir.execution.dialect;

import io.kvasir.routing.KvTransfer;
import io.kvasir.routing.Worker;
import java.net.URI;
import org.jspecify.annotations.Nullable;

/**
 * The two legs of a request whose prompt one worker reads and another answers, as an engine family wants them. Pure
 * and thread-safe. Whether the legs go out at once, and whether a decode worker can do without prefill, is the {@link
 * KvTransfer.Dialect}'s own to say.
 */
public interface KvTransferProtocol {
  /** The legs of a dialect. */
  static KvTransferProtocol of(KvTransfer.Dialect dialect) {
    return switch (dialect) {
      case VLLM_NIXL -> NixlPull.INSTANCE;
      case VLLM_PUSH -> NixlPush.INSTANCE;
      case VLLM_MOONCAKE -> Mooncake.INSTANCE;
      case SGLANG -> Sglang.INSTANCE;
      case TENSORRT_LLM -> TensorRtLlm.INSTANCE;
    };
  }

  /** Why this request has to stay on one worker, in a few words for the reason; null when it can be split. */
  @Nullable String unsupportedReason(ClientRequest request);

  /** What has to be read from the prefill worker's pod first, once while its engine lives; null for nothing. */
  default @Nullable URI bootstrap(Worker prefill) {
    return null;
  }

  /** What the prefill worker is sent. */
  EngineRequest prefill(SplitRequest split);

  /** What the prefill worker's answer, a 2xx, means; where both legs go out at once nobody asks. */
  default PrefillResult prefillResult(SplitRequest split, byte[] answer) {
    return PrefillResult.KvBlocks.NOT_AWAITED;
  }

  /**
   * What the decode worker is sent.
   *
   * @param blocks what prefill handed over, {@link PrefillResult.KvBlocks#NOT_AWAITED} where both legs go out at once
   */
  EngineRequest decode(SplitRequest split, PrefillResult.KvBlocks blocks);

  /** How the decode worker's answer becomes the client's; null where it is that as it comes. */
  default @Nullable Translation translation(ClientRequest request) {
    return null;
  }
}
