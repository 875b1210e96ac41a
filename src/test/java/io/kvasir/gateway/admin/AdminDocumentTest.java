package io.kvasir.gateway.admin;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The document in itself. Whether it says what the API does is asked wherever the API is called. */
final class AdminDocumentTest {
  private static final JsonNode DOCUMENT = AdminDocument.document();

  @Test
  void document_isOneOfOpenApi() {
    assertThat(DOCUMENT.path("openapi").asText()).startsWith("3.1.");
    assertThat(DOCUMENT.path("info").path("title").asText()).isNotBlank();
    assertThat(DOCUMENT.path("info").path("version").asText()).isNotBlank();
    assertThat(AdminDocument.operations()).isNotEmpty();
  }

  @Test
  void references_leadSomewhere() {
    assertThat(DOCUMENT.findValuesAsText("$ref")).isNotEmpty().allSatisfy(
        reference -> assertThat(DOCUMENT.at(reference.substring(1)).isMissingNode()).as(reference).isFalse());
  }

  @Test
  void schemas_areAllUsed() {
    Set<String> used = new HashSet<>(DOCUMENT.findValuesAsText("$ref"));
    for (String kind : new String[] {"schemas", "responses"}) {
      DOCUMENT.path("components").path(kind).fieldNames().forEachRemaining(
          name -> assertThat(used).contains("#/components/" + kind + "/" + name));
    }
  }

  @Test
  void operations_haveNamesAndNameTheirPathsVariables() {
    Set<String> names = new HashSet<>();
    for (String operation : AdminDocument.operations()) {
      JsonNode described = AdminDocument.operation(operation);
      assertThat(names.add(described.path("operationId").asText())).as(operation).isTrue();
      assertThat(described.path("summary").asText()).as(operation).isNotBlank();
      String path = operation.substring(operation.indexOf(' ') + 1);
      Set<String> variables = new HashSet<>();
      for (JsonNode parameter : DOCUMENT.path("paths").path(path).path("parameters")) {
        variables.add("{" + parameter.path("name").asText() + "}");
      }
      assertThat(path.split("/", -1)).filteredOn(part -> part.startsWith("{")).containsExactlyElementsOf(variables);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "POST /admin/cache/flush|{\"all\":true}",
        "POST /admin/cache/flush|{\"tenant\":\"t\",\"model\":\"m\"}",
        "POST /admin/figures|{\"price\":{\"w\":1.5}}",
        "POST /admin/keys|{\"id\":\"a\",\"tenant\":\"t\",\"isolation\":{\"group\":\"g\"}}",
        "POST /admin/workers|{\"name\":\"p\",\"url\":\"http://h:1\",\"models\":[\"m\"],\"events\":{\"endpoint\":\"e\"}}",
        "POST /admin/workers|{\"url\":\"http://h:1\"}"
      })
  void bodies_asInTheHandbook_areDescribed(String example) throws IOException {
    String[] parts = example.split("\\|", -1);
    assertThat(AdminDocument.takes(parts[0], new ObjectMapper().readTree(parts[1]))).isTrue();
  }

  /** The check itself. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "POST /admin/cache/flush|{}",
        "POST /admin/cache/flush|{\"all\":true,\"tenant\":\"t\"}",
        "POST /admin/cache/flush|{\"tennant\":\"t\"}",
        "POST /admin/figures|{\"price\":{\"w\":\"much\"}}",
        "POST /admin/keys|{\"id\":\"a\"}",
        "POST /admin/keys|{\"id\":\"a\",\"tenant\":\"t\",\"isolation\":\"some\"}",
        "POST /admin/workers|{\"name\":\"p\",\"models\":[\"m\"]}",
        "POST /admin/workers|{\"name\":\"a b\",\"url\":\"http://h:1\",\"models\":[\"m\"]}",
        "POST /admin/workers|{\"name\":\"p\",\"url\":\"http://h:1\",\"models\":[]}",
        "POST /admin/workers|{\"name\":\"p\",\"url\":\"http://h:1\",\"models\":[\"m\"],\"ranks\":0}",
        "POST /admin/workers|{\"name\":\"p\",\"url\":\"http://h:1\",\"models\":[\"m\"],\"ranks\":1.5}",
        "POST /admin/workers|{\"name\":\"p\",\"url\":\"http://h:1\",\"models\":[\"m\"],\"role\":\"boss\"}",
        "POST /admin/workers|[]"
      })
  void bodies_thatAreWrong_areNot(String example) throws IOException {
    String[] parts = example.split("\\|", -1);
    assertThat(AdminDocument.takes(parts[0], new ObjectMapper().readTree(parts[1]))).isFalse();
  }
}
