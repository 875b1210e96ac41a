package io.kvasir.load;

import com.fasterxml.jackson.databind.JsonNode;
import org.jspecify.annotations.Nullable;

/** A request whose cached tokens were not as predicted, in words and down to the block. */
final class TruthExplanation {
  private TruthExplanation() {}

  /**
   * Explains one.
   *
   * @param prediction null where the answer's headers had none
   * @param cached tokens the engine reported; -1 where it did not
   * @param decision its record; missing where the router did not record it
   */
  static String of(
      String requestId, String worker, @Nullable CachePrediction prediction, int cached, JsonNode decision) {
    StringBuilder text = new StringBuilder("request ").append(requestId).append(" on ").append(worker);
    if (prediction == null) {
      text.append("\n  no prediction in X-Router-Reason: the router shows none to this caller"
          + " (access.open-routing-details, or a key)");
    } else {
      int blockSize = prediction.size().blockSize();
      text.append("\n  prompt of %,d tokens, %d full blocks of %d\n  predicted %d blocks (%,d tokens), %d unconfirmed"
          .formatted(
              prediction.size().tokens(), prediction.blocks(), blockSize, prediction.tokens() / blockSize,
              prediction.tokens(), prediction.unconfirmed()));
      text.append(
          cached < 0
              ? "; the engine reports no cached tokens (vLLM: --enable-prompt-tokens-details)"
              : "; found %d (%,d tokens)".formatted(cached / blockSize, cached));
      if (cached >= 0) {
        int block = Math.min(cached, prediction.tokens()) / blockSize;
        text.append("\n  they part at block ").append(block).append(hash(decision, block));
      }
    }
    if (decision.isMissingNode()) {
      return text.append("\n  the decision was not recorded (kvasir.decisions.sample)").toString();
    }
    text.append("\n  decision: ").append(decision.path("reason").asText());
    for (JsonNode pass : decision.path("passes")) {
      for (JsonNode candidate : pass.path("candidates")) {
        if (candidate.path("worker").asText().equals(worker)) {
          text.append("\n  worker then: ").append(state(candidate));
        }
      }
    }
    return text.append("\n  record: /admin/decisions?request=").append(requestId).toString();
  }

  private static String hash(JsonNode decision, int block) {
    JsonNode hash = decision.path("chain").path(block);
    return hash.isMissingNode() ? "" : ", hash " + hash.asText();
  }

  private static String state(JsonNode candidate) {
    JsonNode state = candidate.path("state");
    long watermark = state.path("watermark").asLong(-1);
    return "%d in flight, depth %d, %s, %s, trust %.2f"
        .formatted(
            candidate.path("in_flight").asInt(),
            candidate.path("depth").asInt(),
            // What it keeps beside the prefix shows itself with the first.
            watermark < 0 ? "no event yet" : "events up to " + watermark,
            state.has("suspect_ms") ? "some missing for " + state.path("suspect_ms").asLong() + " ms" : "none missing",
            state.path("trust").asDouble(1));
  }
}
