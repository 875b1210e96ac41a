package io.kvasir.prompt.chat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The tools of a {@code /v1/responses} body as those of a chat completion, as SGLang has them: functions, and custom
 * tools, which become functions of one text. What the server itself would run is left out.
 *
 * <p>Source: SGLang {@code srt/entrypoints/openai/serving_responses.py} and {@code responses_adapters.py}.
 */
final class SglangResponsesTools {
  private static final JsonNodeFactory JSON = JsonNodeFactory.instance;

  private SglangResponsesTools() {}

  /** The tools of a body's list. */
  static ArrayNode of(JsonNode given, SglangVersion engine) {
    ArrayNode tools = JSON.arrayNode();
    for (JsonNode tool : given) {
      boolean custom = tool.path("type").asText().equals("custom") && SglangRule.CUSTOM_TOOLS.holds(engine);
      if (custom ? !tool.path("name").asText("").isEmpty() : tool.path("type").asText().equals("function")) {
        ObjectNode function = tools.addObject().put("type", "function").putObject("function");
        function.set("name", tool.path("name"));
        function.set("description", custom ? customDescription(tool) : orNull(tool.get("description")));
        function.set("parameters", custom ? customParameters() : orNull(tool.get("parameters")));
        function.put("strict", tool.path("strict").asBoolean(false));
      }
    }
    return tools;
  }

  /** Which of them may be called: of what is no word, only the name of a tool can be followed. */
  static JsonNode choice(JsonNode choice, SglangVersion engine) {
    if (!choice.isObject()) {
      return choice.isTextual() ? choice : JSON.textNode("auto");
    }
    JsonNode name = choice.hasNonNull("name") ? choice.get("name") : choice.path("function").path("name");
    String type = choice.path("type").asText();
    boolean named = type.equals("function") || (type.equals("custom") && SglangRule.CUSTOM_TOOLS.holds(engine));
    if (!named || !name.isTextual()) {
      return JSON.textNode("auto");
    }
    ObjectNode chosen = JSON.objectNode().put("type", "function");
    chosen.putObject("function").set("name", name);
    return chosen;
  }

  private static JsonNode orNull(@Nullable JsonNode value) {
    return value == null ? JSON.nullNode() : value;
  }

  private static JsonNode customDescription(JsonNode tool) {
    List<String> parts = new ArrayList<>();
    if (!tool.path("description").asText("").isEmpty()) {
      parts.add(tool.path("description").asText());
    }
    JsonNode format = tool.path("format");
    if (format.path("type").asText().equals("grammar")) {
      String syntax = format.path("syntax").asText("");
      parts.add("The payload must conform to this " + (syntax.isEmpty() ? "lark" : syntax) + " grammar:\n"
          + format.path("definition").asText(""));
    }
    return parts.isEmpty() ? JSON.nullNode() : JSON.textNode(String.join("\n\n", parts));
  }

  private static JsonNode customParameters() {
    ObjectNode parameters = JSON.objectNode().put("type", "object");
    parameters.putObject("properties").putObject("input")
        .put("type", "string").put("description", "The freeform text payload for this tool.");
    parameters.putArray("required").add("input");
    return parameters.put("additionalProperties", false);
  }
}
