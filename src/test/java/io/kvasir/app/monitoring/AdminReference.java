package io.kvasir.app.monitoring;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/** The reference of the admin API in Markdown, of its OpenAPI document. */
final class AdminReference {
  private static final Set<String> METHODS = Set.of("get", "post", "put", "patch", "delete");
  private static final String SCHEMAS = "#/components/schemas/";
  private static final String RESPONSES = "#/components/responses/";

  private final JsonNode document;
  private final StringBuilder text = new StringBuilder();

  private AdminReference(JsonNode document) {
    this.document = document;
  }

  static String of(JsonNode document) {
    AdminReference reference = new AdminReference(document);
    reference.write();
    return reference.text.toString();
  }

  private void write() {
    text.append(
        """
        # Admin API

        Generated from `/admin/openapi.json`, which is for programs; the build fails when this is out of date.
        """);
    text.append('\n').append(wrapped(document.at("/info/description").asText())).append('\n');
    for (Map.Entry<String, JsonNode> path : document.path("paths").properties()) {
      for (Map.Entry<String, JsonNode> member : path.getValue().properties()) {
        if (METHODS.contains(member.getKey())) {
          operation(member.getKey().toUpperCase(Locale.ROOT) + " " + path.getKey(), path.getValue(), member.getValue());
        }
      }
    }
    text.append("\n## Schemas\n");
    for (Map.Entry<String, JsonNode> schema : document.at("/components/schemas").properties()) {
      text.append("\n### ").append(schema.getKey()).append('\n');
      describe(schema.getValue());
    }
  }

  private void operation(String name, JsonNode path, JsonNode operation) {
    text.append("\n## ").append(name).append("\n\n").append(wrapped(operation.path("summary").asText() + "."))
        .append('\n');
    if (operation.has("description")) {
      text.append('\n').append(wrapped(operation.path("description").asText())).append('\n');
    }
    List<JsonNode> parameters = new ArrayList<>();
    path.path("parameters").forEach(parameters::add);
    operation.path("parameters").forEach(parameters::add);
    if (!parameters.isEmpty()) {
      text.append("\n| parameter | in | type | |\n|---|---|---|---|\n");
      for (JsonNode parameter : parameters) {
        text.append("| `%s` | %s | %s | %s |%n".formatted(
            parameter.path("name").asText(),
            parameter.path("in").asText(),
            type(parameter.path("schema")),
            words(parameter, parameter.path("schema"))));
      }
    }
    JsonNode body = operation.path("requestBody");
    if (!body.isMissingNode()) {
      text.append("\nThe body:");
      content(body);
    }
    Set<String> errors = new TreeSet<>();
    for (Map.Entry<String, JsonNode> answer : operation.path("responses").properties()) {
      JsonNode response = answer.getValue();
      String reference = response.path("$ref").asText();
      if (reference.startsWith(RESPONSES)) {
        errors.add(answer.getKey());
      } else {
        text.append("\nAnswer %s: %s:".formatted(answer.getKey(), response.path("description").asText()));
        content(response);
      }
    }
    if (!errors.isEmpty()) {
      text.append("\nErrors: ").append(String.join(", ", errors)).append('\n');
    }
  }

  private void content(JsonNode message) {
    for (Map.Entry<String, JsonNode> content : message.path("content").properties()) {
      if (!content.getKey().equals("application/json")) {
        text.append(" as `").append(content.getKey()).append("`:");
      }
      describe(content.getValue().path("schema"));
    }
  }

  /** The members of an object, those of objects in it by their paths; of anything else its type. */
  private void describe(JsonNode schema) {
    if (schema.has("description") && !schema.has("$ref")) {
      text.append('\n').append(wrapped(schema.path("description").asText())).append('\n');
    }
    List<String> rows = new ArrayList<>();
    members("", schema, rows);
    if (rows.isEmpty()) {
      text.append(' ').append(type(schema)).append('\n');
    } else {
      text.append("\n\n| member | type | |\n|---|---|---|\n");
      rows.forEach(text::append);
    }
  }

  private void members(String at, JsonNode schema, List<String> rows) {
    boolean list = schema.path("type").asText().equals("array");
    JsonNode object = list ? schema.path("items") : schema;
    String inside = at + (list ? "[]" : "") + (at.isEmpty() && !list ? "" : ".");
    Set<String> required = new TreeSet<>();
    object.path("required").forEach(each -> required.add(each.asText()));
    for (Map.Entry<String, JsonNode> member : object.path("properties").properties()) {
      JsonNode value = member.getValue();
      String path = inside + member.getKey();
      String optional = required.contains(member.getKey()) ? "" : ", may be absent";
      rows.add("| `%s` | %s%s | %s |%n".formatted(path, type(value), optional, words(value, value)));
      members(path, value, rows);
    }
    if (object.path("additionalProperties").has("properties")) {
      members(inside + "*", object.path("additionalProperties"), rows);
    }
    for (JsonNode either : object.path("oneOf")) {
      members(at, either, rows);
    }
  }

  private static String type(JsonNode schema) {
    String reference = schema.path("$ref").asText();
    if (reference.startsWith(SCHEMAS)) {
      String name = reference.substring(SCHEMAS.length());
      return "[%s](#%s)".formatted(name, name.toLowerCase(Locale.ROOT));
    }
    if (schema.has("enum")) {
      return either(schema.path("enum"));
    }
    if (schema.has("const")) {
      return "`" + schema.path("const").asText() + "`";
    }
    if (schema.has("oneOf") && !schema.path("oneOf").path(0).has("properties")) {
      List<String> types = new ArrayList<>();
      schema.path("oneOf").forEach(each -> types.add(type(each)));
      return String.join(" or ", types);
    }
    if (schema.path("type").isArray()) {
      List<String> types = new ArrayList<>();
      schema.path("type").forEach(each -> types.add(each.asText()));
      return String.join(" or ", types);
    }
    return switch (schema.path("type").asText("any")) {
      case "array" -> "list of " + type(schema.path("items"));
      case "object" -> schema.path("additionalProperties").isObject()
          ? "object of " + type(schema.path("additionalProperties"))
          : "object";
      case String other -> other;
    };
  }

  private static String either(JsonNode values) {
    List<String> texts = new ArrayList<>();
    values.forEach(each -> texts.add("`" + each.asText() + "`"));
    return String.join(", ", texts);
  }

  /** A description with the bounds of a value. */
  private static String words(JsonNode described, JsonNode schema) {
    List<String> words = new ArrayList<>();
    if (described.has("description")) {
      words.add(described.path("description").asText().replace("|", "\\|"));
    }
    if (schema.has("minimum") && schema.has("maximum")) {
      words.add(schema.path("minimum").asText() + " to " + schema.path("maximum").asText());
    } else if (schema.path("minimum").asInt(0) != 0) {
      words.add("at least " + schema.path("minimum").asText());
    }
    if (schema.has("default")) {
      words.add(schema.path("default").asText() + " unless given");
    }
    return String.join("; ", words);
  }

  private static String wrapped(String paragraph) {
    StringBuilder lines = new StringBuilder();
    int column = 0;
    for (String word : paragraph.split(" ", -1)) {
      if (column > 0 && column + 1 + word.length() > 120) {
        lines.append('\n');
        column = 0;
      } else if (column > 0) {
        lines.append(' ');
        column++;
      }
      lines.append(word);
      column += word.length();
    }
    return lines.toString();
  }
}
