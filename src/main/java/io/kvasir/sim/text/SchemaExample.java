package io.kvasir.sim.text;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.NullNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.sim.json.EngineApiException;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/**
 * A value that a JSON schema allows, as a constrained model would write one: of an object's properties those that are
 * required, of the branches of a choice the first that is not null. The keywords are those by which frameworks describe
 * types; {@code not}, {@code if} and dependencies are not looked at. Used by one thread.
 */
final class SchemaExample {
  /** Depth from which on what nests in itself ends as soon as the schema allows. */
  private static final int DEEP = 3;
  private static final int DEEPEST = 48;
  private static final int UNIQUE_TRIES = 50;
  private static final int MOST_ITEMS = 1000;
  private static final int MOST_VALUES = 20_000;

  private final JsonNode root;
  private final SplittableRandom random;
  private final ScalarExample scalars;
  private int values;

  private SchemaExample(JsonNode root, long seed) {
    this.root = root;
    this.random = new SplittableRandom(seed);
    this.scalars = new ScalarExample(random);
  }

  /**
   * A value of {@code schema}, the same for the same {@code seed}.
   *
   * @throws EngineApiException when nothing can be made of the schema; says of which part
   */
  static JsonNode of(JsonNode schema, long seed) throws EngineApiException {
    return new SchemaExample(schema, seed).value(schema, 0);
  }

  private JsonNode value(JsonNode given, int depth) throws EngineApiException {
    if (depth > DEEPEST) {
      throw ScalarExample.unsupported("it refers to itself without an end");
    }
    count();
    if (given.isBoolean() && !given.booleanValue()) {
      throw ScalarExample.unsupported("a part of it is false, which allows nothing");
    }
    JsonNode schema = resolved(given, depth, 0);
    if (schema.has("const")) {
      return schema.get("const");
    }
    if (schema.path("enum") instanceof ArrayNode values) {
      if (values.isEmpty()) {
        throw ScalarExample.unsupported("an enum of it is empty");
      }
      return values.get(random.nextInt(values.size()));
    }
    String type = type(schema);
    return switch (type) {
      case "object" -> object(schema, depth);
      case "array" -> array(schema, depth);
      case "string" -> scalars.text(schema);
      case "integer", "number" -> scalars.number(schema, type.equals("integer"));
      case "boolean" -> JsonNodeFactory.instance.booleanNode(random.nextBoolean());
      case "null" -> NullNode.instance;
      default -> throw ScalarExample.unsupported("there is no type '" + type + "'");
    };
  }

  /** Of each value and each part that one is described by, which may refer to one another many times over. */
  private void count() throws EngineApiException {
    if (++values > MOST_VALUES) {
      throw ScalarExample.unsupported("it needs more than " + MOST_VALUES + " values");
    }
  }

  /** Without references and choices: they are replaced by what they stand for. */
  private JsonNode resolved(JsonNode given, int depth, int steps) throws EngineApiException {
    if (steps > DEEPEST) {
      throw ScalarExample.unsupported("it refers to itself without an end");
    }
    if (!(given instanceof ObjectNode schema)) {
      return JsonNodeFactory.instance.objectNode();
    }
    List<JsonNode> parts = new ArrayList<>();
    if (schema.has("$ref")) {
      parts.add(target(schema.get("$ref").asText()));
    }
    schema.path("allOf").forEach(parts::add);
    for (String choice : List.of("anyOf", "oneOf")) {
      if (schema.path(choice) instanceof ArrayNode branches && !branches.isEmpty()) {
        parts.add(branch(branches, depth));
      }
    }
    if (parts.isEmpty()) {
      return schema;
    }
    ObjectNode merged = schema.deepCopy().without(List.of("$ref", "allOf", "anyOf", "oneOf"));
    for (JsonNode part : parts) {
      count();
      merge(merged, resolved(part, depth, steps + 1));
    }
    return merged;
  }

  /** The first that is not null; further down one that does not nest, if there is one. */
  private JsonNode branch(ArrayNode branches, int depth) throws EngineApiException {
    JsonNode first = null;
    for (JsonNode branch : branches) {
      boolean isNull = branch.path("type").asText().equals("null");
      boolean isNested = branch.has("$ref") || branch.has("properties") || branch.has("items");
      if (depth >= DEEP ? !isNested : !isNull) {
        return branch;
      }
      first = first == null ? branch : first;
    }
    return Objects.requireNonNull(first);
  }

  private JsonNode target(String reference) throws EngineApiException {
    if (reference.equals("#")) {
      return root;
    }
    JsonNode target = reference.startsWith("#/") ? root.at(reference.substring(1)) : root.path("");
    if (target.isMissingNode()) {
      throw ScalarExample.unsupported("'" + reference + "' is not within it");
    }
    return target;
  }

  private static void merge(ObjectNode into, JsonNode from) {
    for (Map.Entry<String, JsonNode> member : from.properties()) {
      String name = member.getKey();
      JsonNode value = member.getValue();
      JsonNode own = into.get(name);
      if (own instanceof ObjectNode fields && value instanceof ObjectNode others && name.equals("properties")) {
        fields.setAll(others);
      } else if (own instanceof ArrayNode list && value instanceof ArrayNode others && name.equals("required")) {
        others.forEach(list::add);
      } else if (own == null || name.equals("type")) {
        into.set(name, value.deepCopy());
      }
    }
  }

  private static String type(JsonNode schema) {
    JsonNode type = schema.path("type");
    for (JsonNode one : type) {
      if (!one.asText().equals("null")) {
        return one.asText();
      }
    }
    if (type.isTextual()) {
      return type.textValue();
    }
    if (has(schema, "properties", "required", "additionalProperties", "minProperties")) {
      return "object";
    }
    if (has(schema, "items", "prefixItems", "minItems", "contains")) {
      return "array";
    }
    return has(schema, "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf") ? "number"
        : "string";
  }

  private static boolean has(JsonNode schema, String... names) {
    for (String name : names) {
      if (schema.has(name)) {
        return true;
      }
    }
    return false;
  }

  private ObjectNode object(JsonNode schema, int depth) throws EngineApiException {
    ObjectNode made = JsonNodeFactory.instance.objectNode();
    JsonNode properties = schema.path("properties");
    Set<String> required = new LinkedHashSet<>();
    schema.path("required").forEach(name -> required.add(name.asText()));
    int fewest = schema.path("minProperties").asInt();
    // In the order in which they are described, as models write them.
    for (Map.Entry<String, JsonNode> property : properties.properties()) {
      if (required.contains(property.getKey())) {
        made.set(property.getKey(), value(property.getValue(), depth + 1));
      }
    }
    for (Map.Entry<String, JsonNode> property : properties.properties()) {
      if (made.size() < fewest && !made.has(property.getKey())) {
        made.set(property.getKey(), value(property.getValue(), depth + 1));
      }
    }
    for (String name : required) {
      if (!made.has(name)) {
        made.set(name, value(schema.path("additionalProperties"), depth + 1));
      }
    }
    while (made.size() < Math.min(fewest, MOST_ITEMS)) {
      made.set("key_" + made.size(), value(schema.path("additionalProperties"), depth + 1));
    }
    return made;
  }

  private ArrayNode array(JsonNode schema, int depth) throws EngineApiException {
    JsonNode items = schema.path("items");
    JsonNode first = items.isArray() ? items : schema.path("prefixItems");
    JsonNode rest = items.isArray() ? schema.path("additionalItems") : items;
    boolean ends = rest.isBoolean() && !rest.booleanValue();
    int fewest = Math.max(schema.path("minItems").asInt(), Math.max(first.size(), schema.has("contains") ? 1 : 0));
    int usual = depth < DEEP && !ends ? Math.max(1, fewest) : fewest;
    int count = Math.min(Math.min(usual, schema.path("maxItems").asInt(MOST_ITEMS)), MOST_ITEMS);
    boolean unique = schema.path("uniqueItems").asBoolean();
    ArrayNode made = JsonNodeFactory.instance.arrayNode();
    for (int i = 0; i < count; i++) {
      JsonNode of = i < first.size() ? first.get(i) : i == first.size() && schema.has("contains")
          ? schema.get("contains") : rest;
      JsonNode item = another(of, depth + 1, unique ? made : null);
      if (item == null) {
        break;
      }
      made.add(item);
    }
    if (made.size() < schema.path("minItems").asInt()) {
      throw ScalarExample.unsupported("an array of it needs more different items than there are");
    }
    return made;
  }

  /** A value that is not in {@code known}; null when none was found. */
  private @Nullable JsonNode another(JsonNode schema, int depth, @Nullable ArrayNode known) throws EngineApiException {
    for (int tries = 0; tries < UNIQUE_TRIES; tries++) {
      JsonNode made = value(schema, depth);
      boolean isNew = true;
      for (int i = 0; known != null && i < known.size(); i++) {
        isNew &= !known.get(i).equals(made);
      }
      if (isNew) {
        return made;
      }
    }
    return null;
  }
}
