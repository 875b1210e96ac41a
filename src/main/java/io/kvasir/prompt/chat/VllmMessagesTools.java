package io.kvasir.prompt.chat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.prompt.template.TemplateException;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The tools of an Anthropic {@code /v1/messages} body as those of a chat completion: the ones that it has at the end of
 * the conversation, in which blocks of the system's may add and remove some.
 *
 * <p>Source: vLLM {@code entrypoints/anthropic/serving.py}.
 */
final class VllmMessagesTools {
  private static final String DEFER = "defer_loading";
  private static final String REMOVAL = "tool_removal";

  private VllmMessagesTools() {}

  static ArrayNode of(ObjectNode body, VllmVersion version) {
    ArrayNode tools = JsonNodeFactory.instance.arrayNode();
    for (JsonNode tool : atTheEnd(body, version)) {
      ObjectNode function = tools.addObject().put("type", "function").putObject("function");
      function.set("name", tool.get("name"));
      function.set("description", tool.get("description"));
      function.set("parameters", schema(tool.path("input_schema")));
      if (tool.hasNonNull("strict") && VllmRule.TOOL_STRICT.holds(version)) {
        function.set("strict", tool.get("strict"));
      }
      if (tool.hasNonNull(DEFER) && VllmRule.TOOL_DEFER_LOADING.holds(version)) {
        function.set(DEFER, tool.get(DEFER));
      }
    }
    return tools;
  }

  /** With a type, which it gets at its end. */
  private static JsonNode schema(JsonNode given) {
    return given instanceof ObjectNode object && !object.has("type")
        ? object.deepCopy().put("type", "object") : given;
  }

  private static Iterable<JsonNode> atTheEnd(ObjectNode body, VllmVersion version) {
    List<JsonNode> changes = VllmRule.TOOL_CHANGES.holds(version) ? changes(body.path("messages")) : List.of();
    if (changes.isEmpty()) {
      return body.path("tools");
    }
    Map<String, JsonNode> tools = new LinkedHashMap<>();
    body.path("tools").forEach(tool -> tools.put(name(tool), tool));
    Set<String> removed = new HashSet<>();
    for (JsonNode change : changes) {
      JsonNode definition = change.at("/tool/definition");
      String name = name(definition.isObject() ? definition : change.path("tool"));
      if (definition.isObject()) {
        tools.put(name, definition);
      } else if (!tools.containsKey(name)) {
        throw new TemplateException.Request(
            "a message adds or removes the tool %s, which is not among the tools".formatted(name));
      }
      if (isOfType(change, REMOVAL)) {
        removed.add(name);
      } else {
        removed.remove(name);
        tools.computeIfPresent(name, (_, tool) -> definition.isObject() ? tool : undeferred(tool));
      }
    }
    return tools.entrySet().stream().filter(tool -> !removed.contains(tool.getKey())).map(Map.Entry::getValue).toList();
  }

  private static String name(JsonNode tool) {
    return tool.path("name").asText();
  }

  /** Copied once, however often the conversation names it. */
  private static JsonNode undeferred(JsonNode tool) {
    return tool.has(DEFER) && tool instanceof ObjectNode object ? object.deepCopy().without(DEFER) : tool;
  }

  private static List<JsonNode> changes(JsonNode messages) {
    return messages.valueStream()
        .flatMap(message -> message.path("content").valueStream())
        .filter(block -> isOfType(block, "tool_addition") || isOfType(block, REMOVAL))
        .toList();
  }

  private static boolean isOfType(JsonNode block, String type) {
    return block.path("type").asText().equals(type);
  }
}
