package io.kvasir.prompt.chat;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.prompt.template.JsonValues;
import io.kvasir.prompt.template.TemplateException.Request;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The tools of a request in the form of SGLang's API: a function's fields in the order in which they came, those
 * missing after them as null, without what the API does not have; the tool around it always with {@code
 * defer_loading}; types by their standard names ({@link SchemaTypes}). Versions differ: {@link SglangRule}.
 *
 * <p>Source: SGLang {@code srt/entrypoints/openai/protocol.py}, {@code Tool} and {@code Function}.
 */
final class SglangTools {
  private static final List<String> FUNCTION = List.of("description", "name", "parameters");
  private static final String STRICT = "strict";
  private static final String DEFER = "defer_loading";

  private SglangTools() {}

  /**
   * The tools that a request's template is given: all, the one that is to be called, or none where none may be; null
   * for none.
   */
  static @Nullable List<@Nullable Object> chosen(JsonNode body, SglangVersion version) {
    JsonNode tools = body.path("tools");
    JsonNode choice = body.path("tool_choice");
    if (tools.isEmpty() || choice.asText().equals("none")) {
      return null;
    }
    if (!tools.isArray()) {
      throw new Request("tools must be a list");
    }
    if (!choice.isObject()) {
      return of(tools, version);
    }
    List<@Nullable Object> named = new ArrayList<>();
    for (JsonNode tool : tools) {
      if (tool.path("function").path("name").equals(choice.path("function").path("name"))) {
        named.add(tool(tool, version));
      }
    }
    return named.isEmpty() ? null : named;
  }

  /** Tools in the API's form. */
  static List<@Nullable Object> of(JsonNode tools, SglangVersion version) {
    List<@Nullable Object> prepared = new ArrayList<>(tools.size());
    tools.forEach(tool -> prepared.add(tool(tool, version)));
    return prepared;
  }

  /** The functions of tools, without what is around them: some templates read them so. */
  static List<@Nullable Object> functions(List<@Nullable Object> tools) {
    List<@Nullable Object> functions = new ArrayList<>(tools.size());
    for (Object tool : tools) {
      functions.add(tool instanceof Map<?, ?> map && map.containsKey("function") ? map.get("function") : tool);
    }
    return functions;
  }

  private static Map<String, @Nullable Object> tool(JsonNode given, SglangVersion version) {
    JsonNode called = given.path("function");
    if (!called.path("name").isTextual()) {
      throw new Request("each tool must have a function with a name");
    }
    Map<String, @Nullable Object> function =
        SglangRule.FUNCTION_AS_SENT.holds(version) ? asSent(called) : inOrder(called);
    SchemaTypes.standardise(function.get("parameters"));
    Object deferred = given.hasNonNull(DEFER) ? JsonValues.of(given.get(DEFER)) : null;
    function.putIfAbsent(DEFER, deferred);
    function.remove(DEFER, null);
    Map<String, @Nullable Object> tool = new LinkedHashMap<>();
    tool.put("type", given.path("type").asText("function"));
    tool.put("function", function);
    tool.put(DEFER, deferred);
    return tool;
  }

  private static Map<String, @Nullable Object> asSent(JsonNode called) {
    Map<String, @Nullable Object> function = new LinkedHashMap<>();
    for (Map.Entry<String, JsonNode> field : called.properties()) {
      String name = field.getKey();
      // A null in it is a place for the tool's own.
      if (FUNCTION.contains(name) || name.equals(DEFER) || (name.equals(STRICT) && !field.getValue().isNull())) {
        function.put(name, JsonValues.of(field.getValue()));
      }
    }
    for (String field : FUNCTION) {
      function.putIfAbsent(field, null);
    }
    return function;
  }

  private static Map<String, @Nullable Object> inOrder(JsonNode called) {
    Map<String, @Nullable Object> function = new LinkedHashMap<>();
    for (String field : FUNCTION) {
      function.put(field, JsonValues.of(called.get(field)));
    }
    function.put(STRICT, called.path(STRICT).asBoolean(false));
    if (called.hasNonNull(DEFER)) {
      function.put(DEFER, JsonValues.of(called.get(DEFER)));
    }
    return function;
  }
}
