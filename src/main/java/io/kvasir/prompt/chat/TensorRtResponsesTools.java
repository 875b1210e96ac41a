package io.kvasir.prompt.chat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.jspecify.annotations.Nullable;

/**
 * The tools of a {@code /v1/responses} body as those of a chat completion, as TensorRT-LLM has them: functions, and
 * since 1.3 custom tools, which become functions of one text, and those within namespaces. What the server itself would
 * run is left out.
 *
 * <p>Source: TensorRT-LLM {@code serve/responses_utils.py}.
 */
final class TensorRtResponsesTools {
  private static final JsonNodeFactory JSON = JsonNodeFactory.instance;

  private TensorRtResponsesTools() {}

  /** The tools of a body's list. */
  static ArrayNode of(JsonNode given, TensorRtVersion engine) {
    boolean all = TensorRtRule.RESPONSES_ITEMS.holds(engine);
    ArrayNode tools = JSON.arrayNode();
    for (JsonNode tool : given) {
      switch (tool.path("type").asText()) {
        case "function" -> add(tools, tool.path("name").asText(), tool.get("description"),
            all ? parameters(tool) : tool.get("parameters"));
        case "custom" -> {
          if (all) {
            add(tools, tool.path("name").asText(), tool.get("description"), parameters(tool));
          }
        }
        case "namespace" -> {
          if (all) {
            addNamespace(tools, tool);
          }
        }
        default -> { }
      }
    }
    return tools;
  }

  private static void addNamespace(ArrayNode tools, JsonNode namespace) {
    for (JsonNode inner : namespace.path("tools")) {
      String name = inner.path("name").asText("");
      if (!name.isEmpty()) {
        String own = inner.path("description").asText("");
        add(tools, namespace.path("name").asText() + "." + name,
            own.isEmpty() ? namespace.get("description") : inner.get("description"), parameters(inner));
      }
    }
  }

  private static void add(
      ArrayNode tools, String name, @Nullable JsonNode description, @Nullable JsonNode parameters) {
    ObjectNode function = tools.addObject().put("type", "function").putObject("function").put("name", name);
    function.set("description", description);
    function.set("parameters", parameters);
  }

  private static JsonNode parameters(JsonNode tool) {
    if (tool.path("type").asText().equals("custom")) {
      ObjectNode parameters = JSON.objectNode().put("type", "object");
      parameters.putObject("properties").putObject("input").put("type", "string")
          .put("description", "The complete freeform input for this tool, passed through verbatim.");
      parameters.putArray("required").add("input");
      return parameters;
    }
    if (tool.hasNonNull("parameters")) {
      return tool.get("parameters");
    }
    ObjectNode none = JSON.objectNode().put("type", "object");
    none.putObject("properties");
    return none;
  }
}
