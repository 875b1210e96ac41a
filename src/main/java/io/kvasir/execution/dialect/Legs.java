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
public interface Legs {
  /** The legs of a dialect. */
  static Legs of(KvTransfer.Dialect dialect) {
    return switch (dialect) {
      case VLLM_NIXL -> NixlPull.LEGS;
      case VLLM_PUSH -> NixlPush.LEGS;
      case VLLM_MOONCAKE -> Mooncake.LEGS;
      case SGLANG -> Sglang.LEGS;
      case TENSORRT_LLM -> TensorRt.LEGS;
    };
  }

  /** Why this request has to stay on one worker, in a few words for the reason; null when it can be split. */
  @Nullable String unfit(ClientRequest request);

  /** What has to be read from the prefill worker's pod first, once while its engine lives; null for nothing. */
  default @Nullable URI bootstrap(Worker prefill) {
    return null;
  }

  /** What the prefill worker is sent. */
  Message prefill(Split split);

  /** What the prefill worker's answer, a 2xx, means; where both legs go out at once nobody asks. */
  default Handed handed(Split split, byte[] answer) {
    return Handed.Blocks.UNSEEN;
  }

  /**
   * What the decode worker is sent.
   *
   * @param blocks what prefill handed over, {@link Handed.Blocks#UNSEEN} where both legs go out at once
   */
  Message decode(Split split, Handed.Blocks blocks);

  /** How the decode worker's answer becomes the client's; null where it is that as it comes. */
  default @Nullable Translation translation(ClientRequest request) {
    return null;
  }
}
