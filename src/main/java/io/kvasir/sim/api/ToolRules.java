package io.kvasir.sim.api;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.sim.json.EngineApiException;
import io.kvasir.sim.json.RequestBody;
import java.util.List;
import java.util.Set;

/** What vLLM 0.32 refuses of a request's tools and of what it says of their choice, in its words. */
final class ToolRules {
  private static final String TOOLS = "tools";
  private static final String TOOL_CHOICE = "tool_choice";
  private static final String FUNCTION = "function";

  private ToolRules() {}

  /** Of {@code /v1/chat/completions}. */
  static void checkChat(RequestBody body) throws EngineApiException {
    JsonNode tools = body.get(TOOLS);
    JsonNode choice = body.get(TOOL_CHOICE);
    if (tools != null && tools.isArray() && tools.isEmpty()) {
      throw EngineApiException.parameter(
          "`tools` must not be an empty array. Either provide at least one tool or omit the field entirely.", TOOLS);
    }
    if (choice != null && !choice.asText().equals("none")) {
      if (tools == null) {
        throw EngineApiException.parameter("When using `tool_choice`, `tools` must be set.", TOOL_CHOICE);
      }
      checkChoice(tools, choice);
    }
    if (tools == null) {
      return;
    }
    if (!tools.isArray()) {
      throw body.invalid("list_type", TOOLS, "Input should be a valid list");
    }
    for (int i = 0; i < tools.size(); i++) {
      JsonNode tool = tools.get(i);
      if (tool.has("type") && !tool.get("type").asText().equals(FUNCTION)) {
        throw RequestBody.literal("tools." + i + ".type", "'function'", tool.get("type"));
      }
      if (!tool.has(FUNCTION)) {
        throw RequestBody.missing("tools." + i + ".function", tool);
      }
      if (!tool.get(FUNCTION).has("name")) {
        throw RequestBody.missing("tools." + i + ".function.name", tool.get(FUNCTION));
      }
    }
  }

  /** Of {@code /v1/responses}. */
  static void checkResponse(RequestBody body) throws EngineApiException {
    JsonNode tools = body.get(TOOLS);
    JsonNode choice = body.get(TOOL_CHOICE);
    boolean named = choice != null && choice.path("type").asText().equals(FUNCTION);
    if (tools == null || tools.isEmpty()) {
      if (choice != null && choice.asText().equals("required")) {
        throw EngineApiException.parameter(
            "Tool choice 'required' must be specified with 'tools' parameter.", TOOL_CHOICE);
      }
      if (named) {
        throw EngineApiException.parameter("Tool choice 'function' not found in 'tools' parameter.", TOOL_CHOICE);
      }
    } else if (named && choice != null) {
      String name = choice.path("name").asText();
      if (!hasTool(tools, "", name)) {
        throw EngineApiException.parameter("Tool choice 'function' not found in 'tools' parameter.", TOOL_CHOICE);
      }
    }
    if (choice != null && choice.isTextual() && !Set.of("none", "auto", "required").contains(choice.textValue())) {
      throw RequestBody.literal(TOOL_CHOICE, "'none', 'auto' or 'required'", choice);
    }
    for (int i = 0; tools != null && i < tools.size(); i++) {
      if (tools.get(i).path("type").asText().equals(FUNCTION) && !tools.get(i).has("name")) {
        throw RequestBody.missing("tools." + i + ".FunctionTool.name", tools.get(i));
      }
    }
  }

  /** Of {@code /v1/messages}. */
  static void checkMessage(RequestBody body) throws EngineApiException {
    JsonNode choice = body.get(TOOL_CHOICE);
    if (choice != null) {
      JsonNode type = choice.path("type");
      if (!Set.of("auto", "any", "tool", "none").contains(type.asText())) {
        throw RequestBody.literal("tool_choice.type", "'auto', 'any', 'tool' or 'none'", type);
      }
      if (type.asText().equals("tool") && choice.path("name").asText().isEmpty()) {
        throw body.value(TOOL_CHOICE, "tool_choice.name is required when type is 'tool'");
      }
    }
    JsonNode tools = body.get(TOOLS);
    for (int i = 0; tools != null && i < tools.size(); i++) {
      for (String field : List.of("name", "input_schema")) {
        if (!tools.get(i).has(field)) {
          throw RequestBody.missing("tools." + i + "." + field, tools.get(i));
        }
      }
    }
  }

  private static void checkChoice(JsonNode tools, JsonNode choice) throws EngineApiException {
    if (!choice.isObject()) {
      if (!choice.asText().equals("auto") && !choice.asText().equals("required")) {
        throw EngineApiException.parameter(
            "Invalid value for `tool_choice`: " + choice.asText()
                + "! Only named tools, \"none\", \"auto\" or \"required\" are supported.",
            TOOL_CHOICE);
      }
      return;
    }
    String usage = "Correct usage: `{\"type\": \"function\", \"function\": {\"name\": \"my_function\"}}`";
    JsonNode function = choice.path(FUNCTION);
    if (!function.isObject()) {
      throw EngineApiException.parameter(
          "Invalid value for `function`: `" + (function.isValueNode() ? function.asText() : "None")
              + "` in `tool_choice`! " + usage,
          "tool_choice.function");
    }
    if (!function.has("name")) {
      throw EngineApiException.parameter(
          "Expected field `name` in `function` in `tool_choice`! " + usage, "tool_choice.function.name");
    }
    String name = function.get("name").asText();
    if (name.isEmpty()) {
      throw EngineApiException.parameter(
          "Invalid `name` in `function`: `` in `tool_choice`! " + usage, "tool_choice.function.name");
    }
    if (!hasTool(tools, "/function", name)) {
      throw EngineApiException.parameter(
          "The tool specified in `tool_choice` does not match any of the specified `tools`", TOOL_CHOICE);
    }
  }

  private static boolean hasTool(JsonNode tools, String at, String name) {
    for (JsonNode tool : tools) {
      if (tool.at(at).path("name").asText().equals(name)) {
        return true;
      }
    }
    return false;
  }
}
