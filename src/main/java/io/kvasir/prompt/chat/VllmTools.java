package io.kvasir.prompt.chat;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.prompt.template.JsonValues;
import io.kvasir.prompt.template.TemplateException;
import io.kvasir.prompt.template.Text;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The tools of a request in the form of the engine's API, which refuses those that have another. */
final class VllmTools {
  private static final List<String> FUNCTION = List.of("name", "description", "parameters");
  private static final List<String> DEVELOPERS_TOOL = List.of("function", "type");
  private static final List<String> DEVELOPERS_FUNCTION = List.of("name", "description", "parameters", "strict");
  private static final String STRICT = "strict";
  private static final String DEFER = "defer_loading";
  private static final Set<String> TRUE = Set.of("true", "t", "yes", "y", "on", "1");
  private static final Set<String> FALSE = Set.of("false", "f", "no", "n", "off", "0");

  private final boolean deferring;
  private final boolean strict;
  private final boolean known;

  private VllmTools(VllmVersion version) {
    deferring = VllmRule.TOOL_DEFER_LOADING.holds(version);
    strict = VllmRule.TOOL_STRICT.holds(version);
    known = VllmRule.TOOL_FIELDS.holds(version);
  }

  /** The tools, null for none; {@code version} is the engine's. */
  static @Nullable List<@Nullable Object> tools(JsonNode tools, VllmVersion version) {
    if (tools.isNull() || tools.isMissingNode()) {
      return null;
    }
    if (!tools.isArray()) {
      throw new TemplateException.Request("tools must be a list");
    }
    VllmTools schema = new VllmTools(version);
    List<@Nullable Object> prepared = new ArrayList<>(tools.size());
    for (int i = 0; i < tools.size(); i++) {
      JsonNode tool = tools.get(i);
      if (schema.isOfResponses(tool)) {
        prepared.add(JsonValues.of(tool));
      } else {
        check(tool, "tools[" + i + "]");
        prepared.add(schema.tool(tool));
      }
    }
    return prepared;
  }

  /** Tools that a developer's message brings: in the field order of the server's own types, and not checked. */
  static @Nullable Object ofDeveloper(JsonNode tools) {
    if (!tools.isArray()) {
      return JsonValues.of(tools);
    }
    List<@Nullable Object> prepared = new ArrayList<>(tools.size());
    for (JsonNode tool : tools) {
      Map<String, @Nullable Object> out = inOrder(tool, DEVELOPERS_TOOL);
      out.replace("function", inOrder(tool.path("function"), DEVELOPERS_FUNCTION));
      prepared.add(out);
    }
    return prepared;
  }

  /** All fields of an object, these first. */
  private static Map<String, @Nullable Object> inOrder(JsonNode object, List<String> first) {
    Map<String, @Nullable Object> fields = new LinkedHashMap<>();
    for (String field : first) {
      if (object.has(field)) {
        fields.put(field, JsonValues.of(object.get(field)));
      }
    }
    object.properties().forEach(field -> fields.putIfAbsent(field.getKey(), JsonValues.of(field.getValue())));
    return fields;
  }

  /** Whether it is shown as it is: a tool of {@code /v1/responses} of a version before that had fields. */
  private boolean isOfResponses(JsonNode tool) {
    return !known && tool.path("function").has("type");
  }

  private static void check(JsonNode tool, String field) {
    JsonNode function = tool.path("function");
    require(function.isObject(), field + ".function must be an object");
    require(!tool.has("type") || "function".equals(tool.path("type").textValue()),
        field + ".type must be \"function\"");
    require(function.path("name").isTextual(), field + ".function.name must be a text");
    require(isAbsent(function, "description") || function.get("description").isTextual(),
        field + ".function.description must be a text");
    require(isAbsent(function, "parameters") || function.get("parameters").isObject(),
        field + ".function.parameters must be an object");
  }

  private static boolean isAbsent(JsonNode object, String field) {
    return !object.hasNonNull(field);
  }

  private static void require(boolean holds, String otherwise) {
    if (!holds) {
      throw new TemplateException.Request(otherwise);
    }
  }

  private Map<String, @Nullable Object> tool(JsonNode given) {
    Boolean deferred = deferring ? flag(given, DEFER) : null;
    JsonNode called = given.path("function");
    Map<String, @Nullable Object> function = new LinkedHashMap<>();
    for (String field : FUNCTION) {
      function.put(field, JsonValues.of(called.get(field)));
    }
    put(function, STRICT, strict ? flag(called, STRICT) : null);
    Boolean own = deferring ? flag(called, DEFER) : null;
    put(function, DEFER, own == null ? deferred : own);
    more(called, function);
    Map<String, @Nullable Object> tool = new LinkedHashMap<>();
    tool.put("type", "function");
    tool.put("function", function);
    put(tool, DEFER, deferred);
    more(given, tool);
    return tool;
  }

  private static void put(Map<String, @Nullable Object> to, String field, @Nullable Boolean flag) {
    if (flag != null) {
      to.put(field, flag);
    }
  }

  /** Copies the fields that the API does not have. */
  private void more(JsonNode from, Map<String, @Nullable Object> to) {
    if (known) {
      return;
    }
    for (Map.Entry<String, JsonNode> field : from.properties()) {
      String name = field.getKey();
      boolean flag = (deferring && name.equals(DEFER)) || (strict && name.equals(STRICT));
      if (!flag && !to.containsKey(name)) {
        to.put(name, JsonValues.of(field.getValue()));
      }
    }
  }

  /** A boolean, or what the engine takes for one; null where there is none. */
  private static @Nullable Boolean flag(JsonNode object, String field) {
    if (isAbsent(object, field)) {
      return null;
    }
    String text = Text.lower(object.get(field).asText());
    require(TRUE.contains(text) || FALSE.contains(text), field + " of a tool must be true or false");
    return TRUE.contains(text);
  }
}
