package io.kvasir.app.config;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.google.gson.JsonElement;
import com.google.gson.JsonParser;
import io.kvasir.kubernetes.ApiResource;
import io.kvasir.kubernetes.Definition;
import io.kvasir.kubernetes.inference.InferenceApi;
import java.lang.reflect.InvocationTargetException;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;

/**
 * The schemas of manifests: Kubernetes' own kinds by the models that Kubernetes generates from them, those of inference
 * pools by their published definitions, other custom resources by a table of their fields. Unknown and missing fields
 * are faults.
 */
final class ManifestSchemas {
  private static final Path CUSTOM = Path.of("src/test/resources/io/kvasir/app/config/custom-resources.yaml");

  private final JsonNode custom;

  ManifestSchemas() throws Exception {
    this.custom = RenderedChart.YAML.readTree(CUSTOM.toFile());
  }

  /** Fails when a manifest does not fit the schema of its kind. */
  void check(JsonNode manifest) throws Exception {
    String kind = manifest.path("kind").asText();
    String version = manifest.path("apiVersion").asText();
    for (Definition each : InferenceApi.definitions()) {
      ApiResource resource = each.resource();
      if (each.kind().equals(kind) && version.equals(resource.group() + "/" + resource.version())) {
        assertThat(each.faults(manifest)).as(kind).isEmpty();
        assertThat(each.unknownFields(manifest)).as("what a server drops of " + kind).isEmpty();
        return;
      }
    }
    JsonNode fields = custom.path(version + " " + kind);
    if (fields.isMissingNode()) {
      Class<?> model = Class.forName("io.kubernetes.client.openapi.models.V1" + kind);
      try {
        model.getMethod("validateJsonElement", JsonElement.class)
            .invoke(null, JsonParser.parseString(manifest.toString()));
      } catch (InvocationTargetException wrong) {
        throw new AssertionError(kind + ": " + wrong.getCause(), wrong);
      }
    } else {
      JsonNode spec = fields.path("spec*");
      check(version + " " + kind + " spec", spec, manifest.path("spec"));
      assertThat(manifest.at("/metadata/name").asText()).isNotEmpty();
    }
  }

  private static void check(String at, JsonNode fields, JsonNode value) {
    if (fields.isTextual()) {
      return;
    }
    if (fields.isArray()) {
      assertThat(value.isArray()).as(at + " is a list").isTrue();
      value.forEach(each -> check(at + "[]", fields.get(0), each));
      return;
    }
    assertThat(value.isObject()).as(at + " is an object").isTrue();
    Set<String> known = new HashSet<>();
    fields.properties().forEach(field -> {
      String name = field.getKey().replace("*", "");
      known.add(name);
      if (value.has(name)) {
        check(at + "." + name, field.getValue(), value.path(name));
      } else {
        assertThat(field.getKey()).as(at + " has " + name).doesNotEndWith("*");
      }
    });
    value.fieldNames().forEachRemaining(name -> assertThat(known).as("fields of " + at).contains(name));
  }
}
