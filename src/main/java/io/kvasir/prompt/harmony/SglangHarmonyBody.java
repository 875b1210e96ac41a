package io.kvasir.prompt.harmony;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import io.kvasir.prompt.chat.SglangItems;
import io.kvasir.prompt.chat.SglangRule;
import io.kvasir.prompt.chat.SglangVersion;
import io.kvasir.prompt.template.TemplateException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.StringJoiner;
import org.jspecify.annotations.Nullable;

/**
 * The conversation in the Harmony format that SGLang makes of a {@code /v1/responses} body. For chats it renders the
 * template of such models.
 *
 * <p>Source: SGLang {@code srt/entrypoints/harmony_utils.py} and {@code openai/serving_responses.py}.
 */
final class SglangHarmonyBody {
  private static final Set<String> TEXTS = Set.of("text", "input_text", "output_text");
  private static final Set<String> EARLY_TEXTS = Set.of("text", "input_text");

  /** The efforts of the API as those of the format; medium for what is not among them. */
  private static final Map<String, String> EFFORTS =
      Map.of("low", "low", "minimal", "low", "high", "high", "xhigh", "high", "max", "high");

  private final HarmonyMessages messages = new HarmonyMessages();
  private final SglangItems items = new SglangItems();

  private final SglangVersion engine;

  private SglangHarmonyBody(SglangVersion engine) {
    this.engine = engine;
  }

  /**
   * The conversation as {@link HarmonyMessages}.
   *
   * @param engine its version
   * @param date its own, such as 2026-11-28
   * @throws TemplateException.Request when the engine refuses the request
   */
  static ObjectNode chat(ObjectNode body, SglangVersion engine, String date) {
    SglangHarmonyBody conversation = new SglangHarmonyBody(engine);
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
      case "reasoning" -> {
        if (SglangRule.HARMONY_CHANNELS.holds(engine)) {
          messages.add("assistant", null, VllmHarmony.ANALYSIS, List.of(thoughts(item)));
        } else {
          messages.add("assistant", null, null, List.of(onlyThought(item)));
        }
      }
      case "function_call" -> {
        JsonNode arguments = item.path("arguments");
        String given = arguments.isObject() ? arguments.toString() : arguments.asText("");
        addCall(item, given.isEmpty() ? "{}" : given);
      }
      case "custom_tool_call" ->
          addCall(item, "{\"input\": " + TextNode.valueOf(item.path("input").asText("")) + "}");
      case "function_call_output", "custom_tool_call_output" -> {
        String function = messages.called(item.path("call_id").asText());
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

  private static String onlyThought(JsonNode item) {
    JsonNode content = item.path("content");
    if (content.size() != 1) {
      throw new TemplateException.Request("input: thoughts are one part of content for this engine");
    }
    return content.get(0).path("text").asText("");
  }

  private void addCall(JsonNode item, String arguments) {
    messages.addCall(item.path("call_id").asText(), item.path("name").asText(), arguments);
  }

  private void addMessage(JsonNode item) {
    boolean system = item.path("role").asText().equals("system");
    String prefix = system ? "Instructions:\n" : "";
    List<String> texts = new ArrayList<>();
    JsonNode content = item.path("content");
    if (content.isTextual()) {
      texts.add(prefix + content.textValue());
    }
    boolean once = SglangRule.HARMONY_PARTS.holds(engine);
    Set<String> read = SglangRule.HARMONY_CHANNELS.holds(engine) ? TEXTS : EARLY_TEXTS;
    for (JsonNode part : content) {
      if (!once || read.contains(part.path("type").asText())) {
        texts.add((once && !texts.isEmpty() ? "" : prefix) + part.path("text").asText(""));
      }
    }
    messages.add(system ? "developer" : item.path("role").asText(), null, channel(item), texts);
  }

  private @Nullable String channel(JsonNode item) {
    boolean phased = SglangRule.HARMONY_CHANNELS.holds(engine) && item.path("role").asText().equals("assistant");
    return !phased || !item.hasNonNull("phase") ? null
        : item.path("phase").asText().equals("final_answer") ? VllmHarmony.FINAL
        : VllmHarmony.COMMENTARY;
  }
}
