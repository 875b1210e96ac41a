package io.kvasir.prompt.chat;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The types in tools' JSON schemas by their standard names, as SGLang puts them right where databases' own were given:
 * {@code varchar(255)} becomes {@code string}. What it does not know stays.
 *
 * <p>Source: SGLang {@code srt/function_call/utils.py}.
 */
final class SchemaTypes {
  private static final Set<String> STANDARD =
      Set.of("null", "boolean", "object", "array", "number", "string", "integer");

  private static final Map<String, Set<String>> NAMES = Map.of(
      "string", Set.of("str", "text", "varchar", "char", "enum", "uuid", "date", "datetime", "time", "timestamp",
          "binary", "blob", "bytea", "bytes", "varbinary"),
      "boolean", Set.of("bool"),
      "integer", Set.of("bigint", "smallint", "tinyint"),
      "number", Set.of("double", "decimal", "real", "numeric"),
      "array", Set.of("arr", "tuple", "set"),
      "object", Set.of("map"));

  /** Beginnings of names: {@code int32}, {@code list[str]}, but not {@code internal}. */
  private static final Map<String, List<String>> BEGINNINGS = Map.of(
      "integer", List.of("int", "uint", "long", "short", "unsigned"),
      "number", List.of("num", "float"),
      "array", List.of("list"),
      "object", List.of("dict"));

  private static final String AFTER_A_BEGINNING = "0123456789[<( \t";

  private static final List<String> NAMED =
      List.of("properties", "patternProperties", "$defs", "definitions", "dependentSchemas");
  private static final List<String> LISTED = List.of("anyOf", "oneOf", "allOf", "prefixItems");
  private static final List<String> NESTED = List.of("items", "additionalProperties", "not", "if", "then", "else",
      "contains", "propertyNames", "unevaluatedItems", "unevaluatedProperties");

  private SchemaTypes() {}

  /** Puts the types right in a schema, which is changed. */
  static void standardise(@Nullable Object schema) {
    if (schema instanceof List<?> schemas) {
      schemas.forEach(SchemaTypes::standardise);
    }
    if (!(schema instanceof Map<?, ?> given)) {
      return;
    }
    @SuppressWarnings("unchecked") // Made from JSON a moment ago: its keys are strings.
    Map<String, @Nullable Object> members = (Map<String, @Nullable Object>) given;
    members.computeIfPresent("type", (_, type) -> type instanceof List<?> types
        ? types.stream().collect(LinkedHashSet::new, (set, each) -> set.add(standard(each)), Set::addAll).stream()
            .toList()
        : standard(type));
    for (String name : NAMED) {
      if (members.get(name) instanceof Map<?, ?> schemas) {
        schemas.values().forEach(SchemaTypes::standardise);
      }
    }
    for (String name : LISTED) {
      if (members.get(name) instanceof List<?> schemas) {
        schemas.forEach(SchemaTypes::standardise);
      }
    }
    NESTED.forEach(name -> standardise(members.get(name)));
  }

  private static @Nullable Object standard(@Nullable Object type) {
    if (!(type instanceof String name) || STANDARD.contains(name)) {
      return type;
    }
    int bracket = name.indexOf('(');
    String base = (bracket < 0 ? name : name.substring(0, bracket)).strip().toLowerCase(Locale.ROOT);
    if (STANDARD.contains(base)) {
      return base;
    }
    for (Map.Entry<String, Set<String>> names : NAMES.entrySet()) {
      if (names.getValue().contains(base)) {
        return names.getKey();
      }
    }
    for (Map.Entry<String, List<String>> beginnings : BEGINNINGS.entrySet()) {
      if (beginnings.getValue().stream().anyMatch(beginning -> begins(base, beginning))) {
        return beginnings.getKey();
      }
    }
    return name;
  }

  private static boolean begins(String name, String beginning) {
    return name.startsWith(beginning)
        && (name.length() == beginning.length()
            || AFTER_A_BEGINNING.indexOf(name.charAt(beginning.length())) >= 0);
  }
}
