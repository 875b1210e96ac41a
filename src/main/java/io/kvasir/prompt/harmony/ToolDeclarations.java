package io.kvasir.prompt.harmony;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.prompt.template.TemplateException;
import java.util.HashSet;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Functions in TypeScript, as {@code template_tools_section} and {@code json_schema_to_typescript} of the reference
 * library print them. Clients write the schemas, and what is printed of one is longer by the depth of its parts: both
 * are bounded.
 */
final class ToolDeclarations {
  private static final String VARIANT = " | ";

  /** What engines read is nested no deeper: the library's parser ends there. */
  private static final int MOST_DEPTH = 128;

  private static final int MOST_CHARS = 8 << 20;

  private ToolDeclarations() {}

  /** The section of functions, each with {@code name}, {@code description} and {@code parameters}. */
  static String of(Iterable<JsonNode> functions) {
    StringBuilder out = new StringBuilder("# Tools\n\n## functions\n\nnamespace functions {\n\n");
    for (JsonNode function : functions) {
      function.path("description").asText("").lines().forEach(line -> out.append("// ").append(line).append('\n'));
      out.append("type ").append(function.path("name").asText()).append(" = (");
      if (function.hasNonNull("parameters")) {
        out.append("_: ");
        type(function.get("parameters"), "", 0, out);
      }
      out.append(") => any;\n\n");
    }
    return out.append("} // namespace functions").toString();
  }

  private static void type(JsonNode schema, String indent, int depth, StringBuilder out) {
    if (depth > MOST_DEPTH) {
      throw new TemplateException.Request("tools: the parameters of a function are nested too deeply");
    }
    limit(out);
    if (schema.path("oneOf").isArray()) {
      for (JsonNode variant : schema.get("oneOf")) {
        out.append('\n').append(indent).append(VARIANT);
        nullableType(variant, indent + "   ", depth, out);
        comment(out, description(variant), defaultValue(variant, true));
      }
      return;
    }
    JsonNode type = schema.path("type");
    if (type.isArray()) {
      int start = out.length();
      for (JsonNode each : type) {
        if (each.isTextual()) {
          out.append(out.length() == start ? "" : VARIANT)
              .append(each.textValue().equals("integer") ? "number" : each.textValue());
        }
      }
      if (out.length() > start) {
        return;
      }
    }
    switch (type.asText("")) {
      case "object" -> object(schema, indent, depth, out);
      case "string" -> string(schema, out);
      case "number", "integer" -> out.append("number");
      case "boolean" -> out.append("boolean");
      case "array" -> {
        if (schema.has("items")) {
          type(schema.get("items"), indent, depth + 1, out);
          out.append("[]");
        } else {
          out.append("Array<any>");
        }
      }
      default -> out.append("any");
    }
  }

  private static void string(JsonNode schema, StringBuilder out) {
    int start = out.length();
    for (JsonNode value : schema.path("enum")) {
      if (value.isTextual()) {
        out.append(out.length() == start ? "" : VARIANT).append('"').append(value.textValue()).append('"');
      }
    }
    if (out.length() == start) {
      out.append("string");
    }
  }

  private static void object(JsonNode schema, String indent, int depth, StringBuilder out) {
    line(description(schema), indent, out);
    out.append("{\n");
    Set<String> required = new HashSet<>();
    schema.path("required").forEach(name -> required.add(name.asText()));
    schema.path("properties").properties().forEach(property -> {
      JsonNode value = property.getValue();
      String name = property.getKey() + (required.contains(property.getKey()) ? "" : "?");
      String title = value.path("title").textValue();
      if (title != null) {
        line(title, indent, out);
        out.append(indent).append("//\n");
      }
      boolean variants = value.path("oneOf").isArray();
      if (!value.has("oneOf")) {
        line(description(value), indent, out);
      }
      examples(value.path("examples"), indent, out);
      if (variants) {
        variants(name, value, indent, depth, out);
      } else {
        out.append(indent).append(name).append(": ");
        nullableType(value, indent + "    ", depth, out);
        out.append(',');
        comment(out, null, value.has("oneOf") ? null : defaultValue(value, false));
        out.append('\n');
      }
    });
    out.append(indent).append('}');
  }

  private static void examples(JsonNode examples, String indent, StringBuilder out) {
    if (examples.isArray() && !examples.isEmpty()) {
      line("Examples:", indent, out);
      for (JsonNode example : examples) {
        if (example.isTextual()) {
          line("- \"" + example.textValue() + "\"", indent, out);
        }
      }
    }
  }

  /** A property that is one of several types. */
  private static void variants(String name, JsonNode property, String indent, int depth, StringBuilder out) {
    JsonNode all = property.get("oneOf");
    String description = description(property);
    boolean above = description != null && !(all.has(0) && description.equals(description(all.get(0))));
    if (above) {
      line(description, indent, out);
    }
    line(defaultValue(property, false), indent, out);
    out.append(indent).append(name).append(":\n");
    boolean first = true;
    for (JsonNode variant : all) {
      out.append(indent).append(VARIANT);
      nullableType(variant, indent + "   ", depth, out);
      String its = description(variant);
      boolean told = (first && above) || Objects.equals(its, description);
      comment(out, told ? null : its, defaultValue(variant, false));
      out.append('\n');
      first = false;
    }
    out.append(indent).append(",\n");
  }

  /** A part of a schema that is {@code depth} deep. */
  private static void nullableType(JsonNode schema, String indent, int depth, StringBuilder out) {
    int start = out.length();
    type(schema, indent, depth + 1, out);
    if (schema.path("nullable").isBoolean() && schema.get("nullable").booleanValue()
        && out.indexOf("null", start) < 0) {
      out.append(" | null");
    }
  }

  private static @Nullable String description(JsonNode schema) {
    return schema.path("description").textValue();
  }

  /**
   * A value that counts when none is given, null without one; {@code literalEnums} where one of an enumeration is
   * printed as JSON, too.
   */
  private static @Nullable String defaultValue(JsonNode schema, boolean literalEnums) {
    JsonNode value = schema.get("default");
    if (value == null) {
      return null;
    }
    boolean ofEnum = schema.path("enum").isArray() && !schema.get("enum").isEmpty();
    return "default: "
        + (!value.isTextual() || (ofEnum && literalEnums) ? JsonLiteral.of(value)
            : ofEnum ? value.textValue()
            : "\"" + value.textValue() + "\"");
  }

  /** Every line is indented: called before each of which there may be many. */
  private static void limit(StringBuilder out) {
    if (out.length() > MOST_CHARS) {
      throw new TemplateException.Limit("the tools make more than " + MOST_CHARS + " characters of text");
    }
  }

  private static void line(@Nullable String comment, String indent, StringBuilder out) {
    if (comment != null) {
      limit(out);
      out.append(indent).append("// ").append(comment).append('\n');
    }
  }

  private static void comment(StringBuilder out, @Nullable String description, @Nullable String defaultValue) {
    if (description != null || defaultValue != null) {
      out.append(" // ");
      out.append(Stream.of(description, defaultValue).filter(Objects::nonNull).collect(Collectors.joining(" ")));
    }
  }
}
