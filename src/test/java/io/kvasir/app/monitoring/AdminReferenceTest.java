package io.kvasir.app.monitoring;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.gateway.admin.AdminDocument;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/** The reference of the admin API, {@code cluster-configs/ADMIN-API.md}, is what its OpenAPI document says. */
final class AdminReferenceTest {
  private static final Path DOCUMENT = Path.of("src/main/resources/io/kvasir/gateway/admin/openapi.json");

  @Test
  void reference_isCurrent() throws Exception {
    String reference = AdminReference.of(document());
    assertThat(AdminDocument.operations()).allSatisfy(operation -> assertThat(reference).contains("## " + operation));
    GeneratedFile.assertCurrent(Path.of("cluster-configs/ADMIN-API.md"), reference);
  }

  @Test
  void members_areNamedByTheirPaths() throws Exception {
    JsonNode document =
        new ObjectMapper().readTree(
            """
            {"info": {"description": "d"}, "paths": {}, "components": {"schemas": {"Thing": {
              "type": "object", "required": ["a"], "properties": {
                "a": {"type": "array", "items": {"type": "object", "properties": {
                  "b": {"type": ["string", "null"], "description": "either | or"}}}},
                "c": {"$ref": "#/components/schemas/Thing"},
                "d": {"type": "integer", "minimum": 1, "maximum": 5},
                "e": {"enum": ["x", "y"]}}}}}}
            """);
    assertThat(AdminReference.of(document)).contains(
        "### Thing",
        "| `a` | list of object |  |",
        "| `a[].b` | string or null, may be absent | either \\| or |",
        "| `c` | [Thing](#thing), may be absent |  |",
        "| `d` | integer, may be absent | 1 to 5 |",
        "| `e` | `x`, `y`, may be absent |  |");
  }

  private static JsonNode document() throws Exception {
    return new ObjectMapper().readTree(DOCUMENT.toFile());
  }
}
