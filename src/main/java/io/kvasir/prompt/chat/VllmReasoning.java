package io.kvasir.prompt.chat;

import com.fasterxml.jackson.databind.JsonNode;
import org.jspecify.annotations.Nullable;

/** The thoughts in an assistant's message, which clients send back by two names. */
public final class VllmReasoning {
  private VllmReasoning() {}

  /** Those that an engine of this version reads; null for none. */
  public static @Nullable String of(JsonNode message, VllmVersion engine) {
    String reasoning = message.path("reasoning").textValue();
    boolean absent = VllmRule.REASONING_CONTENT.holds(engine)
        ? reasoning == null
        : !VllmRule.REASONING_ALONE.holds(engine) && (reasoning == null || reasoning.isEmpty());
    return absent ? message.path("reasoning_content").textValue() : reasoning;
  }
}
