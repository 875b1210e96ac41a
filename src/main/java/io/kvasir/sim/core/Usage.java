package io.kvasir.sim.core;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.jspecify.annotations.Nullable;

/**
 * What an answer cost.
 *
 * @param prompt tokens read
 * @param completion tokens generated
 * @param cached of those read, the ones found in the cache; null when the engine does not report them
 */
public record Usage(int prompt, int completion, @Nullable Integer cached) {

  /** The usage object of chat and text completions. */
  public ObjectNode json() {
    ObjectNode usage = JsonNodeFactory.instance.objectNode();
    usage.put("prompt_tokens", prompt);
    usage.put("total_tokens", prompt + completion);
    usage.put("completion_tokens", completion);
    if (cached == null) {
      usage.putNull("prompt_tokens_details");
    } else {
      usage.putObject("prompt_tokens_details").put("cached_tokens", cached);
    }
    return usage;
  }
}
