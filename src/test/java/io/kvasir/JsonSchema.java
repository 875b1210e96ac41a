package io.kvasir;

import com.fasterxml.jackson.databind.JsonNode;
import java.time.OffsetDateTime;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BiPredicate;
import java.util.regex.Pattern;

/**
 * Checks JSON against the schemas of a document, as far as JSON Schema's keywords go that the admin API's document and
 * definitions of custom resources need. Any other keyword is a fault of the document, so that nothing passes unchecked.
 */
public final class JsonSchema {
  private static final Set<String> WORDS = Set.of("description", "default");

  private final JsonNode document;
  private final Map<String, BiPredicate<JsonNode, JsonNode>> more;
  private final List<String> faults = new ArrayList<>();

  private JsonSchema(JsonNode document, Map<String, BiPredicate<JsonNode, JsonNode>> more) {
    this.document = document;
    this.more = more;
  }

  /** What is wrong with a value by the schema at a pointer into the document, each with the place; empty if nothing. */
  public static List<String> faults(JsonNode document, String pointer, JsonNode value) {
    return faults(document, pointer, value, Map.of());
  }

  /** The same with keywords of the document's own: whether what they want, the first, holds of a value. */
  public static List<String> faults(
      JsonNode document, String pointer, JsonNode value, Map<String, BiPredicate<JsonNode, JsonNode>> more) {
    JsonSchema check = new JsonSchema(document, more);
    check.check(document.at(pointer), value, "");
    return check.faults;
  }

  private void check(JsonNode schema, JsonNode value, String at) {
    if (schema.isBoolean() && schema.booleanValue()) {
      return;
    }
    if (!schema.isObject()) {
      fault(at, "has no schema");
      return;
    }
    for (Map.Entry<String, JsonNode> keyword : schema.properties()) {
      if (!WORDS.contains(keyword.getKey()) && !holds(keyword.getKey(), keyword.getValue(), schema, value, at)) {
        fault(at, "%s is not %s %s".formatted(value, keyword.getKey(), keyword.getValue()));
      }
    }
  }

  /** Whether a keyword holds of a value; what stands inside the value tells its own faults. */
  private boolean holds(String keyword, JsonNode wanted, JsonNode schema, JsonNode value, String at) {
    return switch (keyword) {
      case "$ref" -> {
        check(document.at(wanted.asText().substring(1)), value, at);
        yield true;
      }
      case "type" -> wanted.isArray()
          ? elements(wanted).stream().anyMatch(type -> isA(type.asText(), value))
          : isA(wanted.asText(), value);
      case "enum" -> elements(wanted).contains(value);
      case "const" -> wanted.equals(value);
      case "minimum" -> !value.isNumber() || value.doubleValue() >= wanted.doubleValue();
      case "maximum" -> !value.isNumber() || value.doubleValue() <= wanted.doubleValue();
      case "pattern" -> !value.isTextual() || Pattern.compile(wanted.asText()).matcher(value.asText()).find();
      case "minLength" -> !value.isTextual() || length(value) >= wanted.intValue();
      case "maxLength" -> !value.isTextual() || length(value) <= wanted.intValue();
      case "format" -> isOfFormat(wanted.asText(), value);
      case "maxItems" -> !value.isArray() || value.size() <= wanted.intValue();
      case "maxProperties" -> !value.isObject() || value.size() <= wanted.intValue();
      case "minItems" -> !value.isArray() || value.size() >= wanted.intValue();
      case "minProperties" -> !value.isObject() || value.size() >= wanted.intValue();
      case "required" -> !value.isObject() || elements(wanted).stream().allMatch(name -> value.has(name.asText()));
      case "oneOf" -> elements(wanted).stream().filter(each -> fits(each, value)).count() == 1;
      case "items" -> {
        for (int i = 0; i < (value.isArray() ? value.size() : 0); i++) {
          check(wanted, value.get(i), at + "/" + i);
        }
        yield true;
      }
      case "properties" -> {
        wanted.properties().stream()
            .filter(property -> value.has(property.getKey()))
            .map(Map.Entry::getKey)
            .forEach(name -> check(wanted.get(name), value.get(name), at + "/" + name));
        yield true;
      }
      case "additionalProperties" -> {
        value.properties().stream()
            .filter(member -> !schema.path("properties").has(member.getKey()))
            .forEach(member -> additional(wanted, member.getValue(), at + "/" + member.getKey()));
        yield true;
      }
      default -> {
        BiPredicate<JsonNode, JsonNode> own = more.get(keyword);
        if (own == null) {
          throw new AssertionError("the document uses '" + keyword + "', which this check does not know");
        }
        yield own.test(wanted, value);
      }
    };
  }

  private static int length(JsonNode text) {
    return text.asText().codePointCount(0, text.asText().length());
  }

  private static boolean isOfFormat(String format, JsonNode value) {
    return switch (format) {
      case "int32" -> !value.isNumber() || value.canConvertToInt();
      case "int64" -> !value.isNumber() || value.canConvertToLong();
      case "date-time" -> !value.isTextual() || isTime(value.asText());
      default -> throw new AssertionError("there is no format '" + format + "'");
    };
  }

  private static boolean isTime(String text) {
    try {
      OffsetDateTime.parse(text);
      return true;
    } catch (DateTimeParseException other) {
      return false;
    }
  }

  private void additional(JsonNode wanted, JsonNode value, String at) {
    if (wanted.isBoolean() && !wanted.booleanValue()) {
      fault(at, "is not in the document");
    } else {
      check(wanted, value, at);
    }
  }

  private boolean fits(JsonNode schema, JsonNode value) {
    JsonSchema check = new JsonSchema(document, more);
    check.check(schema, value, "");
    return check.faults.isEmpty();
  }

  private static boolean isA(String type, JsonNode value) {
    return switch (type) {
      case "object" -> value.isObject();
      case "array" -> value.isArray();
      case "string" -> value.isTextual();
      case "integer" -> value.isIntegralNumber();
      case "number" -> value.isNumber();
      case "boolean" -> value.isBoolean();
      case "null" -> value.isNull();
      default -> throw new AssertionError("there is no type '" + type + "'");
    };
  }

  private static List<JsonNode> elements(JsonNode list) {
    List<JsonNode> elements = new ArrayList<>();
    list.forEach(elements::add);
    return elements;
  }

  private void fault(String at, String what) {
    faults.add((at.isEmpty() ? "/" : at) + ": " + what);
  }
}
