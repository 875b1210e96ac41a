package io.kvasir.prompt.harmony;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.prompt.chat.TensorRtRule;
import io.kvasir.prompt.chat.TensorRtVersion;
import io.kvasir.prompt.template.TemplateException;
import java.util.ArrayList;
import java.util.List;

/**
 * The conversation in the Harmony format that TensorRT-LLM makes of a {@code /v1/responses} body, each item a message
 * of its own. It begins without a date.
 *
 * <p>Source: TensorRT-LLM {@code serve/responses_utils.py}.
 */
final class TensorRtHarmonyBody {
  private static final String ASSISTANT = "assistant";

  private final TensorRtVersion engine;
  private final HarmonyMessages messages = new HarmonyMessages();

  private TensorRtHarmonyBody(TensorRtVersion engine) {
    this.engine = engine;
  }

  /**
   * The conversation as {@link HarmonyMessages}.
   *
   * @throws TemplateException.Request when the engine refuses the request
   */
  static ObjectNode chat(ObjectNode body, TensorRtVersion engine) {
    TensorRtHarmonyBody conversation = new TensorRtHarmonyBody(engine);
    conversation.addPreamble(body);
    conversation.messages.addInput(body.path("input"), conversation::add);
    return conversation.messages.body();
  }

  private void addPreamble(JsonNode body) {
    List<JsonNode> functions = new ArrayList<>();
    for (JsonNode tool : body.path("tools")) {
      if (tool.path("type").asText().equals("function")) {
        functions.add(tool);
      }
    }
    String effort = body.path("reasoning").path("effort").asText("medium");
    String instructions = body.path("instructions").textValue();
    messages.add(
        "system", null, null, List.of(HarmonyPreamble.system(effort, null, !functions.isEmpty())));
    messages.add("developer", null, null, List.of(HarmonyPreamble.developer(instructions, functions)));
  }

  private void add(JsonNode item) {
    switch (item.path("type").asText("message")) {
      case "message" -> addMessage(item);
      case "reasoning" ->
          messages.add(ASSISTANT, null, null, List.of(item.path("content").path(0).path("text").asText("")));
      case "function_call" -> messages.addCall(
          item.path("call_id").asText(""), item.path("name").asText(""), item.path("arguments").asText(""));
      case "function_call_output" -> {
        String called = messages.called(item.path("call_id").asText(""));
        if (called == null || !item.path("output").isTextual()) {
          throw new TemplateException.Request("input: a function_call_output needs its function_call, and a text");
        }
        messages.addResult(called, item.path("output").textValue());
      }
      default -> throw new TemplateException.Request("input: this model has no items of this type");
    }
  }

  private void addMessage(JsonNode item) {
    if (isAnswer(item) && !TensorRtRule.RESPONSES_ITEMS.holds(engine)) {
      return;
    }
    boolean system = item.path("role").asText().equals("system");
    String prefix = system ? "Instructions:\n" : "";
    JsonNode content = item.path("content");
    List<String> texts = new ArrayList<>();
    if (content.isTextual()) {
      texts.add(prefix + content.textValue());
    }
    content.forEach(part -> texts.add(prefix + part.path("text").asText("")));
    messages.add(system ? "developer" : item.path("role").asText(), null, null, texts);
  }

  /** Whether an item is an answer as the server gave it, whose texts earlier versions do not find. */
  private static boolean isAnswer(JsonNode item) {
    return item.path("role").asText().equals(ASSISTANT) && item.path("content").isArray()
        && item.has("type") && item.has("id") && item.has("status");
  }
}
