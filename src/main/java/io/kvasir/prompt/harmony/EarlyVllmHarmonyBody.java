package io.kvasir.prompt.harmony;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.prompt.chat.VllmRule;
import io.kvasir.prompt.chat.VllmVersion;
import io.kvasir.prompt.template.TemplateException;
import java.util.ArrayList;
import java.util.List;
import java.util.StringJoiner;

/**
 * The conversation in the Harmony format that vLLM before 0.23 makes of a {@code /v1/responses} body. A system's words
 * are who the model is; instructions count only where there are functions.
 *
 * <p>Source: vLLM {@code entrypoints/openai/responses/serving.py} and {@code harmony.py}.
 */
final class EarlyVllmHarmonyBody {
  private final VllmVersion engine;
  private final HarmonyMessages messages = new HarmonyMessages();

  private EarlyVllmHarmonyBody(VllmVersion engine) {
    this.engine = engine;
  }

  /**
   * The conversation as {@link HarmonyMessages}.
   *
   * @param date the engine's, such as 2026-11-28
   * @throws TemplateException.Request when the engine refuses the request
   */
  static ObjectNode chat(ObjectNode body, VllmVersion engine, String date) {
    EarlyVllmHarmonyBody conversation = new EarlyVllmHarmonyBody(engine);
    conversation.addPreamble(body, date);
    conversation.messages.addInput(body.path("input"), conversation::add);
    return conversation.messages.body();
  }

  private void addPreamble(JsonNode body, String date) {
    JsonNode effort = body.path("reasoning").path("effort");
    if (effort.isTextual() && !VllmHarmony.EFFORTS.contains(effort.textValue())) {
      throw new TemplateException.Request("reasoning.effort must be low, medium or high for this model");
    }
    List<JsonNode> functions = new ArrayList<>();
    for (JsonNode tool : body.path("tools")) {
      if (!tool.path("type").asText().equals("function")) {
        throw new TemplateException.Request("tools: this model has no tools of this type");
      }
      functions.add(tool);
    }
    messages.add(
        "system", null, null,
        List.of(HarmonyPreamble.system(
            identity(body.path("input")), effort.asText("medium"), date, !functions.isEmpty())));
    if (!functions.isEmpty()) {
      messages.add(
          "developer", null, null,
          List.of(HarmonyPreamble.developer(body.path("instructions").textValue(), functions)));
    }
  }

  /** The first text of the first system's message, empty without any. */
  private static String identity(JsonNode input) {
    for (JsonNode item : input) {
      if (item.path("role").asText().equals("system")) {
        JsonNode content = item.path("content");
        return content.isTextual() ? content.textValue() : content.path(0).path("text").asText("");
      }
    }
    return "";
  }

  private void add(JsonNode item) {
    switch (item.path("type").asText("message")) {
      case "message" -> addMessage(item);
      case "reasoning" -> {
        StringJoiner thoughts = new StringJoiner("\n");
        item.path("content").forEach(part -> thoughts.add(part.path("text").asText("")));
        if (!item.path("content").isEmpty()) {
          String channel = VllmRule.RESPONSES_THOUGHTS.holds(engine) ? HarmonyMessage.ANALYSIS : null;
          messages.add(HarmonyMessage.ASSISTANT, null, channel, List.of(thoughts.toString()));
        }
      }
      case "function_call" -> messages.addCall(
          item.path("call_id").asText(), item.path("name").asText(), item.path("arguments").asText(""));
      case "function_call_output" -> addResult(item);
      default -> throw new TemplateException.Request("input: this model has no items of this type");
    }
  }

  private void addMessage(JsonNode item) {
    String role = item.path("role").asText();
    if (role.equals("system")) {
      return;
    }
    String prefix = role.equals("developer") ? "Instructions:\n" : "";
    List<String> texts = new ArrayList<>();
    JsonNode content = item.path("content");
    if (content.isTextual()) {
      texts.add(prefix + content.textValue());
    }
    content.forEach(part -> texts.add(prefix + part.path("text").asText("")));
    messages.add(role, null, role.equals(HarmonyMessage.ASSISTANT) ? HarmonyMessage.FINAL : null, texts);
  }

  private void addResult(JsonNode item) {
    String function = messages.called(item.path("call_id").asText());
    if (function == null || !item.path("output").isTextual()) {
      throw new TemplateException.Request("input: a function_call_output needs its function_call, and a text");
    }
    String output = item.path("output").textValue();
    if (VllmRule.HARMONY_RESULTS_IN_CHANNEL.holds(engine)) {
      messages.add(
          HarmonyMessage.FUNCTIONS + function, HarmonyMessage.ASSISTANT, HarmonyMessage.COMMENTARY, List.of(output));
    } else {
      messages.addResult(function, output);
    }
  }
}
