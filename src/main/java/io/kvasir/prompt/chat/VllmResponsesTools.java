package io.kvasir.prompt.chat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The tools of a {@code /v1/responses} request as those of a chat completion, as vLLM makes them ({@code
 * tool_parsers/utils.py}). Up to 0.26 the template is shown what the client library's types have of a tool, with all of
 * their fields; these are those of that library in 2026.
 */
final class VllmResponsesTools {
  private static final JsonNodeFactory JSON = JsonNodeFactory.instance;
  private static final String SEPARATOR = "__";
  private static final String TYPE = "type";
  private static final String NAME = "name";
  private static final String FUNCTION = "function";
  private static final List<String> LIBRARY_FUNCTION =
      List.of(NAME, "parameters", "strict", TYPE, "defer_loading", "description");
  private static final List<String> LIBRARY_NAMESPACED =
      List.of(NAME, TYPE, "defer_loading", "description", "parameters", "strict");

  private VllmResponsesTools() {}

  /** The tools; null where the template is told of none. */
  static @Nullable ArrayNode of(JsonNode tools, JsonNode choice, VllmVersion engine) {
    boolean chats = VllmRule.TOOL_FIELDS.holds(engine);
    if (tools.isEmpty() || (!chats && choice.asText().equals("none"))) {
      return null;
    }
    ArrayNode shown = JSON.arrayNode();
    for (JsonNode tool : tools) {
      String type = tool.path(TYPE).asText();
      if (type.equals(FUNCTION)) {
        add(shown, chats ? tool : fields(tool, LIBRARY_FUNCTION));
      } else if (type.equals("namespace") && VllmRule.RESPONSES_NAMESPACES.holds(engine)) {
        namespace(shown, tool, chats);
      } else if (type.equals("custom") && VllmRule.RESPONSES_CUSTOM_TOOLS.holds(engine)) {
        add(shown, asFunction(tool));
      } else if (!chats) {
        add(shown, tool);
      }
    }
    return shown;
  }

  /** The name of a namespace's function among others. */
  static String inNamespace(String namespace, String name) {
    return namespace + SEPARATOR + name;
  }

  /** The text that a custom tool is called with, as the arguments of the function in its place. */
  static JsonNode payload(JsonNode input) {
    return JSON.textNode(JSON.objectNode().put("input", input.asText("")).toString());
  }

  private static void namespace(ArrayNode shown, JsonNode namespace, boolean chats) {
    for (JsonNode tool : namespace.path("tools")) {
      if (tool.path(TYPE).asText().equals(FUNCTION)) {
        ObjectNode named = tool.deepCopy();
        named.put(NAME, inNamespace(namespace.path(NAME).asText(), tool.path(NAME).asText()));
        add(shown, chats ? named : fields(named, LIBRARY_NAMESPACED));
      }
    }
  }

  /** With all of these fields first, null where they are missing. */
  private static ObjectNode fields(JsonNode tool, List<String> names) {
    ObjectNode all = JSON.objectNode();
    names.forEach(name -> all.set(name, tool.get(name)));
    tool.properties().forEach(field -> all.set(field.getKey(), field.getValue()));
    return all;
  }

  private static ObjectNode asFunction(JsonNode custom) {
    ObjectNode function = JSON.objectNode();
    function.set(NAME, custom.get(NAME));
    function.set("description", custom.get("description"));
    ObjectNode parameters = function.putObject("parameters").put(TYPE, "object");
    parameters.putObject("properties").putObject("input")
        .put(TYPE, "string").put("description", "The freeform text payload for this tool.");
    parameters.putArray("required").add("input");
    parameters.put("additionalProperties", false);
    return function;
  }

  private static void add(ArrayNode shown, JsonNode function) {
    shown.addObject().put(TYPE, FUNCTION).set(FUNCTION, function);
  }
}
