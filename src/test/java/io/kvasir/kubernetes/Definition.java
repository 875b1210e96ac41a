package io.kvasir.kubernetes;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import io.kvasir.JsonSchema;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.BiPredicate;
import java.util.function.Predicate;

/**
 * The definition of a custom resource with one version, and what an API server does by it: fields that it does not have
 * are dropped, those that are missing get its defaults, and objects are held against its schema, with lists that are
 * maps and rules in the Common Expression Language.
 */
public final class Definition {
  private static final ObjectMapper YAML = new ObjectMapper(new YAMLFactory());
  private static final String SCHEMA = "/spec/versions/0/schema/openAPIV3Schema";
  private static final List<String> OF_EVERY_OBJECT = List.of("apiVersion", "kind", "metadata");
  /** The rules that the published definitions have. */
  private static final Map<String, Predicate<JsonNode>> RULES =
      Map.of(
          "self.kind != 'Service' || has(self.port)",
          picker -> !picker.path("kind").asText("Service").equals("Service") || picker.has("port"),
          "self.all(p1, self.exists_one(p2, p1.number==p2.number))",
          ports -> Set.copyOf(ports.findValues("number")).size() == ports.size());
  private static final Map<String, BiPredicate<JsonNode, JsonNode>> KEYWORDS =
      Map.of(
          "x-kubernetes-list-type", (_, _) -> true,
          "x-kubernetes-preserve-unknown-fields", (_, _) -> true,
          "x-kubernetes-list-map-keys", Definition::isMapBy,
          "x-kubernetes-validations", Definition::follow);

  private final ObjectNode manifest;

  private Definition(ObjectNode manifest) {
    this.manifest = manifest;
  }

  /** A published one: see the README beside them. */
  public static Definition published(String plural) {
    try (InputStream file = Definition.class.getResourceAsStream("definitions/" + plural + ".yaml")) {
      return new Definition((ObjectNode) YAML.readTree(Objects.requireNonNull(file, plural)));
    } catch (IOException missing) {
      throw new UncheckedIOException(missing);
    }
  }

  /** One of objects with a schema, in YAML: {@code {}} for objects of any kind. */
  public static Definition of(ApiResource resource, String schema) {
    try {
      return new Definition(
          (ObjectNode) YAML.readTree(
              """
              apiVersion: apiextensions.k8s.io/v1
              kind: CustomResourceDefinition
              metadata: {name: %1$s.%2$s}
              spec:
                group: %2$s
                scope: Namespaced
                names: {plural: %1$s, singular: %3$s, kind: %3$s, listKind: %3$sList}
                versions:
                  - name: %4$s
                    served: true
                    storage: true
                    subresources: {status: {}}
                    schema:
                      openAPIV3Schema:
                        type: object
                        x-kubernetes-preserve-unknown-fields: true
                        properties: %5$s
              """
                  .formatted(
                      resource.plural(), resource.group(),
                      resource.plural().substring(0, resource.plural().length() - 1), resource.version(), schema)));
    } catch (IOException malformed) {
      throw new UncheckedIOException(malformed);
    }
  }

  /** The same in the group to which the objects have moved, which is the default of their pools, too. */
  public Definition inGroup(String group) {
    ObjectNode moved = manifest.deepCopy();
    moved.withObject("/spec").put("group", group);
    moved.withObject("/metadata").put("name", resource().plural() + "." + group);
    moved.withObject(SCHEMA + "/properties/spec/properties/poolRef/properties/group").put("default", group);
    return new Definition(moved);
  }

  /** What it defines. */
  public ApiResource resource() {
    JsonNode spec = manifest.path("spec");
    return new ApiResource(
        spec.path("group").asText(), spec.at("/versions/0/name").asText(), spec.at("/names/plural").asText());
  }

  /** The kind of the objects. */
  public String kind() {
    return manifest.at("/spec/names/kind").asText();
  }

  /** What is wrong with an object, each with the place. */
  public List<String> faults(JsonNode object) {
    return JsonSchema.faults(manifest, SCHEMA, object, KEYWORDS);
  }

  /** The fields of an object that the definition does not have, and that a server drops. */
  public List<String> unknownFields(JsonNode object) {
    List<String> unknown = new ArrayList<>();
    prune(manifest.at(SCHEMA), object.deepCopy(), "", unknown);
    return unknown;
  }

  /** An object as a server keeps it. */
  ObjectNode admitted(ObjectNode object) {
    ObjectNode admitted = object.deepCopy();
    prune(manifest.at(SCHEMA), admitted, "", new ArrayList<>());
    complete(manifest.at(SCHEMA), admitted);
    return admitted;
  }

  private static void prune(JsonNode schema, JsonNode value, String at, List<String> unknown) {
    if (value.isArray()) {
      for (int i = 0; i < value.size(); i++) {
        prune(schema.path("items"), value.get(i), at + "/" + i, unknown);
      }
    } else if (value instanceof ObjectNode object) {
      JsonNode known = schema.path("properties");
      boolean open = schema.has("additionalProperties") || schema.has("x-kubernetes-preserve-unknown-fields");
      List<String> names = new ArrayList<>();
      object.fieldNames().forEachRemaining(names::add);
      for (String name : names) {
        if (at.isEmpty() && OF_EVERY_OBJECT.contains(name)) {
          continue;
        }
        if (known.has(name)) {
          prune(known.path(name), object.path(name), at + "/" + name, unknown);
        } else if (!open) {
          object.remove(name);
          unknown.add(at + "/" + name);
        }
      }
    }
  }

  private static void complete(JsonNode schema, JsonNode value) {
    if (value.isArray()) {
      value.forEach(element -> complete(schema.path("items"), element));
    } else if (value instanceof ObjectNode object) {
      schema.path("properties").properties().forEach(property -> {
        if (!object.has(property.getKey()) && property.getValue().has("default")) {
          object.set(property.getKey(), property.getValue().path("default").deepCopy());
        }
        complete(property.getValue(), object.path(property.getKey()));
      });
    }
  }

  private static boolean isMapBy(JsonNode keys, JsonNode list) {
    Set<List<JsonNode>> seen = new HashSet<>();
    for (JsonNode entry : list) {
      List<JsonNode> key = new ArrayList<>();
      keys.forEach(name -> key.add(entry.path(name.asText())));
      if (!seen.add(key)) {
        return false;
      }
    }
    return true;
  }

  private static boolean follow(JsonNode rules, JsonNode value) {
    for (JsonNode each : rules) {
      Predicate<JsonNode> rule = RULES.get(each.path("rule").asText());
      if (rule == null) {
        throw new AssertionError("the definition has a rule that this check does not know: " + each);
      }
      if (!rule.test(value)) {
        return false;
      }
    }
    return true;
  }
}
