package io.kvasir.prompt.harmony;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.prompt.chat.EngineVersion;
import io.kvasir.prompt.chat.SglangRule;
import io.kvasir.prompt.chat.SglangVersion;
import io.kvasir.prompt.chat.TensorRtVersion;
import io.kvasir.prompt.chat.VllmRule;
import io.kvasir.prompt.chat.VllmVersion;
import io.kvasir.prompt.template.RenderedText;
import io.kvasir.prompt.template.TemplateException;
import org.jspecify.annotations.Nullable;

/** What engines render in this format of the conversations with models that were trained in it, and how. */
public final class Harmony {
  /** The template argument with the date that engines have instead of today's: vLLM's VLLM_SYSTEM_START_DATE. */
  public static final String START_DATE = "conversation_start_date";

  private Harmony() {}

  /** Whether an engine renders chat completions in the format; others render the model's template. */
  public static boolean isOf(EngineVersion engine) {
    return switch (engine) {
      case VllmVersion _, TensorRtVersion _ -> true;
      case SglangVersion _ -> false;
    };
  }

  /** Whether a chat completion has messages of the format, as {@link #ofResponses} makes them. */
  public static boolean isIn(JsonNode chat) {
    return HarmonyMessages.isIn(chat);
  }

  /**
   * The conversation of a {@code /v1/responses} body; null where an engine makes a chat completion of it as for other
   * models.
   *
   * @param date such as 2026-11-28: the engine's
   * @throws TemplateException.Request when the engine refuses the request
   */
  public static @Nullable ObjectNode ofResponses(ObjectNode body, EngineVersion engine, String date) {
    return switch (engine) {
      case VllmVersion version ->
          VllmRule.HARMONY_INSTRUCTIONS.holds(version)
              ? VllmHarmonyBody.chat(body)
              : EarlyVllmHarmonyBody.chat(body, version, date);
      case SglangVersion version ->
          version.disaggregated() && !SglangRule.RESPONSES_SPLIT.holds(version)
              ? null
              : SglangHarmonyBody.chat(body, version, date);
      case TensorRtVersion version -> version.disaggregated() ? null : TensorRtHarmonyBody.chat(body, version);
    };
  }

  /**
   * Renders a chat completion that has messages of the format, or one for an engine that {@linkplain #isOf renders} in
   * it.
   *
   * @param date as above
   * @return for a tokenizer that knows breaks
   * @throws TemplateException.Request when the engine refuses the request
   */
  public static RenderedText render(JsonNode chat, EngineVersion engine, String date) {
    if (isIn(chat)) {
      return HarmonyMessages.render(chat);
    }
    return switch (engine) {
      case VllmVersion version -> VllmHarmony.render(chat, version, date);
      case TensorRtVersion version -> TensorRtHarmony.render(chat, version, date);
      case SglangVersion _ -> throw new IllegalArgumentException("SGLang renders the template");
    };
  }
}
