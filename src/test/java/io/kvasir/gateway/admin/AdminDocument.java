package io.kvasir.gateway.admin;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.JsonSchema;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/** The admin API's OpenAPI document, as tests hold what is asked and answered against it. */
public final class AdminDocument {
  private static final Set<String> METHODS = Set.of("get", "post", "delete");
  private static final ObjectNode DOCUMENT = OpenApiHandler.document();

  private AdminDocument() {}

  /** Method and path of every operation: {@code GET /admin/workers}. */
  public static Set<String> operations() {
    Set<String> operations = new TreeSet<>();
    for (Map.Entry<String, JsonNode> path : DOCUMENT.path("paths").properties()) {
      path.getValue().properties().forEach(member -> {
        if (METHODS.contains(member.getKey())) {
          operations.add(member.getKey().toUpperCase(Locale.ROOT) + " " + path.getKey());
        }
      });
    }
    return operations;
  }

  /** The names of an operation's parameters in the query. */
  public static Set<String> parameters(String operation) {
    Set<String> names = new TreeSet<>();
    for (JsonNode parameter : operation(operation).path("parameters")) {
      if (parameter.path("in").asText().equals("query")) {
        names.add(parameter.path("name").asText());
      }
    }
    return names;
  }

  /** Fails when the document does not describe such an answer to an operation. */
  public static void assertDescribed(String operation, int status, JsonNode answer) {
    String response = at(operation) + "/responses/" + status;
    JsonNode described = DOCUMENT.at(response);
    assertThat(described.isMissingNode()).as("the document has no %d of %s", status, operation).isFalse();
    String at = described.has("$ref") ? described.path("$ref").asText().substring(1) : response;
    assertFits(at + "/content/application~1json/schema", answer);
  }

  /** Whether the document describes such a body of an operation. */
  static boolean takes(String operation, JsonNode body) {
    String pointer = at(operation) + "/requestBody/content/application~1json/schema";
    return JsonSchema.faults(DOCUMENT, pointer, body).isEmpty();
  }

  static JsonNode operation(String operation) {
    return DOCUMENT.at(at(operation));
  }

  static JsonNode document() {
    return DOCUMENT;
  }

  private static void assertFits(String pointer, JsonNode value) {
    assertThat(DOCUMENT.at(pointer).isMissingNode()).as("nothing in the document at " + pointer).isFalse();
    assertThat(JsonSchema.faults(DOCUMENT, pointer, value)).as(pointer + " of " + value).isEmpty();
  }

  private static String at(String operation) {
    String[] parts = operation.split(" ", -1);
    return "/paths/" + parts[1].replace("/", "~1") + "/" + parts[0].toLowerCase(Locale.ROOT);
  }
}
