package io.kvasir.app;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.app.node.Node;
import io.kvasir.gateway.admin.AdminDocument;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/**
 * Requests that are generated from the admin API's own description, and mutated: every answer is one that it describes,
 * and none is an error inside the router. {@code -Dkvasir.admin-fuzz=N} sends N, {@code -Dkvasir.admin-fuzz.seed=S}
 * those of a run that failed.
 */
final class AdminFuzzIT {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final JsonNodeFactory NODES = JsonNodeFactory.instance;
  private static final int REQUESTS = Integer.getInteger("kvasir.admin-fuzz", 1_500);
  private static final List<String> TEXTS = List.of(
      "a", "", "0", "-1", "null", "a b", "ä€😀", "\u0000\u001b[31m", "../../etc/passwd",
      "<script>alert(1)</script>", "{{7*7}}", "%00", "a".repeat(300), "1e999", "expected-cost", "vllm-0");

  private final long seed = Long.getLong("kvasir.admin-fuzz.seed", new Random().nextLong());
  private final Random random = new Random(seed);
  private JsonNode document = NODES.missingNode();

  @Test
  void everyAnswer_isOneThatIsDescribed() throws Exception {
    try (Node node = TestNodes.start("")) {
      document = JSON.readTree(
          TestNodes.send(HttpRequest.newBuilder(TestNodes.management(node, "/admin/openapi.json"))).body());
      List<String> operations = new ArrayList<>(AdminDocument.operations());
      for (int i = 0; i < REQUESTS; i++) {
        String operation = operations.get(random.nextInt(operations.size()));
        String method = operation.substring(0, operation.indexOf(' '));
        String target = target(operation);
        byte[] body = method.equals("POST") ? body(operation) : new byte[0];
        HttpRequest.Builder request =
            HttpRequest.newBuilder(new URI(TestNodes.management(node, "") + target))
                .method(method, BodyPublishers.ofByteArray(body));
        if (body.length > 0) {
          request.header("Content-Type", random.nextInt(20) == 0 ? "text/plain" : "application/json");
        }
        HttpResponse<String> answer = TestNodes.send(request);
        String what = "seed %d: %s %s with %s".formatted(
            seed, method, target, new String(body, 0, Math.min(body.length, 500), StandardCharsets.UTF_8));
        assertThat(answer.statusCode()).as(what + ": " + answer.body()).isNotEqualTo(500);
        assertThat(answer.headers().firstValue("Content-Type")).as(what).contains("application/json");
        try {
          AdminDocument.assertDescribed(operation, answer.statusCode(), JSON.readTree(answer.body()));
        } catch (AssertionError notDescribed) {
          throw new AssertionError(what + ": " + answer.statusCode() + " " + answer.body(), notDescribed);
        }
      }
    }
  }

  private String target(String operation) {
    String path = operation.substring(operation.indexOf(' ') + 1);
    while (path.contains("{")) {
      String name = encoded(text());
      path = path.substring(0, path.indexOf('{')) + (name.isEmpty() ? "x" : name)
          + path.substring(path.indexOf('}') + 1);
    }
    StringBuilder query = new StringBuilder();
    for (String parameter : AdminDocument.parameters(operation)) {
      if (random.nextInt(3) == 0) {
        query.append(query.isEmpty() ? '?' : '&').append(parameter).append('=').append(encoded(text()));
      }
    }
    if (random.nextInt(20) == 0) {
      query.append(query.isEmpty() ? '?' : '&').append(encoded(text())).append("=1");
    }
    return path + query;
  }

  private byte[] body(String operation) throws Exception {
    String[] parts = operation.split(" ", -1);
    JsonNode schema = document.at(
        "/paths/%s/post/requestBody/content/application~1json/schema".formatted(parts[1].replace("/", "~1")));
    if (schema.isMissingNode()) {
      return new byte[0];
    }
    byte[] body = JSON.writeValueAsBytes(value(schema, "", 0));
    return switch (random.nextInt(12)) {
      case 0 -> JSON.writeValueAsBytes(anything(3));
      case 1 -> new String(body, 0, random.nextInt(body.length + 1), StandardCharsets.ISO_8859_1)
          .getBytes(StandardCharsets.ISO_8859_1);
      case 2 -> ("[".repeat(1_100) + "]".repeat(1_100)).getBytes(StandardCharsets.UTF_8);
      case 3 -> {
        body[random.nextInt(body.length)] ^= (byte) (1 << random.nextInt(8));
        yield body;
      }
      default -> body;
    };
  }

  /** A value by its schema, or now and then another. */
  private JsonNode value(JsonNode schema, String name, int depth) {
    if (name.equals("url")) {
      // What is added is probed: on this machine only.
      return NODES.textNode("http://127.0.0.1:" + (1 + random.nextInt(9)));
    }
    if (random.nextInt(25) == 0 || depth > 8) {
      return anything(2);
    }
    if (schema.has("$ref")) {
      return value(document.at(schema.path("$ref").asText().substring(1)), name, depth + 1);
    }
    if (schema.has("oneOf")) {
      return value(schema.path("oneOf").get(random.nextInt(schema.path("oneOf").size())), name, depth + 1);
    }
    if (schema.has("enum")) {
      return schema.path("enum").get(random.nextInt(schema.path("enum").size()));
    }
    JsonNode type = schema.path("type");
    return switch (type.isArray() ? type.get(random.nextInt(type.size())).asText() : type.asText("string")) {
      case "object" -> {
        ObjectNode object = NODES.objectNode();
        schema.path("properties").properties().forEach(property -> {
          if (random.nextInt(3) > 0) {
            object.set(property.getKey(), value(property.getValue(), property.getKey(), depth + 1));
          }
        });
        if (schema.path("additionalProperties").isObject()) {
          object.set(text(), value(schema.path("additionalProperties"), "", depth + 1));
        }
        yield object;
      }
      case "array" -> {
        ArrayNode array = NODES.arrayNode();
        for (int i = random.nextInt(3); i > 0; i--) {
          array.add(value(schema.path("items"), name, depth + 1));
        }
        yield array;
      }
      case "integer" -> NODES.numberNode(random.nextBoolean() ? random.nextInt(100) : random.nextLong());
      case "number" -> NODES.numberNode(random.nextGaussian() * 100);
      case "boolean" -> NODES.booleanNode(random.nextBoolean());
      case "null" -> NODES.nullNode();
      default -> NODES.textNode(text());
    };
  }

  private JsonNode anything(int depth) {
    return switch (random.nextInt(depth > 0 ? 8 : 6)) {
      case 0 -> NODES.nullNode();
      case 1 -> NODES.booleanNode(true);
      case 2 -> NODES.numberNode(random.nextLong());
      case 3 -> NODES.numberNode(Double.MAX_VALUE);
      case 4, 5 -> NODES.textNode(text());
      case 6 -> NODES.arrayNode().add(anything(depth - 1));
      default -> NODES.objectNode().set(text(), anything(depth - 1));
    };
  }

  private String text() {
    return TEXTS.get(random.nextInt(TEXTS.size()));
  }

  private static String encoded(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8);
  }
}
