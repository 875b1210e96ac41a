package io.kvasir.prompt.harmony;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import io.kvasir.prompt.chat.SglangItems;
import io.kvasir.prompt.template.TemplateException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.StringJoiner;
import org.jspecify.annotations.Nullable;

/**
 * The conversation in the Harmony format that SGLang 0.5.23 makes of a {@code /v1/responses} body; versions before it
 * refuse calls in most bodies. For chats it renders the template of such models.
 *
 * <p>Source: SGLang {@code srt/entrypoints/harmony_utils.py} and {@code openai/serving_responses.py}.
 */
final class SglangHarmonyBody {
  private static final Set<String> TEXTS = Set.of("text", "input_text", "output_text");

  /** The efforts of the API as those of the format; medium for what is not among them. */
  private static final Map<String, String> EFFORTS =
      Map.of("low", "low", "minimal", "low", "high", "high", "xhigh", "high", "max", "high");

  private final HarmonyMessages messages = new HarmonyMessages();
  private final SglangItems items = new SglangItems();

  /** The functions that were called, by the ids of their last calls. */
  private final Map<String, String> calls = new HashMap<>();

  private SglangHarmonyBody() {}

  /**
   * The conversation as {@link HarmonyMessages}.
   *
   * @param date the engine's, such as 2026-11-28
   * @throws TemplateException.Request when the engine refuses the request
   */
  static ObjectNode chat(ObjectNode body, String date) {
    SglangHarmonyBody conversation = new SglangHarmonyBody();
    conversation.addPreamble(body, date);
    conversation.messages.addInput(body.path("input"), conversation::add);
    return conversation.messages.body();
  }

  private void addPreamble(JsonNode body, String date) {
    List<JsonNode> functions = new ArrayList<>();
    for (JsonNode tool : body.path("tools")) {
      if (tool.path("type").asText().equals("function")) {
        if (!tool.path("description").isTextual()) {
          throw new TemplateException.Request("tools: a function needs a description for this model");
        }
        functions.add(tool);
      }
    }
    String effort = EFFORTS.getOrDefault(body.path("reasoning").path("effort").asText(), "medium");
    messages.add("system", null, null, List.of(HarmonyPreamble.system(effort, date, !functions.isEmpty())));
    messages.add(
        "developer", null, null,
        List.of(HarmonyPreamble.developer(body.path("instructions").textValue(), functions)));
  }

  private void add(JsonNode item) {
    switch (item.path("type").asText("message")) {
      case "message" -> addMessage(item);
      case "reasoning" -> messages.add("assistant", null, VllmHarmony.ANALYSIS, List.of(thoughts(item)));
      case "function_call" -> {
        JsonNode arguments = item.path("arguments");
        String given = arguments.isObject() ? arguments.toString() : arguments.asText("");
        addCall(item, given.isEmpty() ? "{}" : given);
      }
      case "custom_tool_call" ->
          addCall(item, "{\"input\": " + TextNode.valueOf(item.path("input").asText("")) + "}");
      case "function_call_output", "custom_tool_call_output" -> {
        String function = calls.get(item.path("call_id").asText());
        if (function == null) {
          throw new TemplateException.Request("input: a result of a tool needs the call before it");
        }
        messages.addResult(function, SglangItems.output(item.path("output")).asText(""));
      }
      default -> throw new TemplateException.Request("input: this model has no items of this type");
    }
  }

  private String thoughts(JsonNode item) {
    for (String field : List.of("summary", "content")) {
      StringJoiner text = new StringJoiner("\n");
      item.path(field).forEach(part -> text.add(part.path("text").asText("")));
      if (text.length() > 0) {
        return text.toString();
      }
    }
    return items.thoughts(item, true);
  }

  private void addCall(JsonNode item, String arguments) {
    String name = item.path("name").asText();
    calls.put(item.path("call_id").asText(), name);
    messages.addCall(name, arguments);
  }

  private void addMessage(JsonNode item) {
    boolean system = item.path("role").asText().equals("system");
    String prefix = system ? "Instructions:\n" : "";
    List<String> texts = new ArrayList<>();
    JsonNode content = item.path("content");
    if (content.isTextual()) {
      texts.add(prefix + content.textValue());
    }
    for (JsonNode part : content) {
      if (TEXTS.contains(part.path("type").asText())) {
        texts.add((texts.isEmpty() ? prefix : "") + part.path("text").asText(""));
      }
    }
    messages.add(system ? "developer" : item.path("role").asText(), null, channel(item), texts);
  }

  private static @Nullable String channel(JsonNode item) {
    return !item.path("role").asText().equals("assistant") || !item.hasNonNull("phase") ? null
        : item.path("phase").asText().equals("final_answer") ? VllmHarmony.FINAL
        : VllmHarmony.COMMENTARY;
  }
}
