package io.kvasir.app;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.app.node.Node;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Three nodes before three engines: what builds on a response goes to its worker, whichever node it comes to. */
final class StoredResponsesIT {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String RESPONSES = "/v1/responses";

  private final ThreeNodes cluster = new ThreeNodes("random");

  @AfterEach
  void stop() {
    cluster.close();
  }

  @Test
  void responses_areFoundOnEveryNode_alsoWhenTheOneThatRelayedThemIsStopped() throws Exception {
    cluster.start();
    List<Node> nodes = cluster.running();
    for (Node node : nodes) {
      await("all nodes to serve", () -> create(node, "Hello").statusCode() == 200);
    }
    Node relaying = nodes.getFirst();
    await("all nodes to remember what one relays", () -> isRememberedBy(create(relaying, "Again"), nodes.get(1))
        && isRememberedBy(create(relaying, "Again"), nodes.get(2)));
    List<HttpResponse<String>> created = new ArrayList<>();
    for (int i = 0; i < 6; i++) {
      created.add(create(relaying, "Story " + i));
    }

    for (HttpResponse<String> response : created) {
      nodes.forEach(node -> assertIsFound(node, response));
    }
    HttpResponse<String> last = create(relaying, "The last one");
    assertIsFound(relaying, last);
    cluster.stop(relaying);

    // The next home of the cell may take a moment.
    for (Node node : nodes) {
      await("the nodes left to serve", () -> create(node, "Hello").statusCode() == 200);
      assertIsFound(node, last);
      created.forEach(response -> assertIsFound(node, response));
    }
  }

  private static HttpResponse<String> create(Node node, String input) throws Exception {
    return TestNodes.post(
        node, RESPONSES, "{\"model\":\"m\",\"max_output_tokens\":2,\"input\":\"%s\"}".formatted(input));
  }

  /** Whether a node knows a response without asking another. */
  private static boolean isRememberedBy(HttpResponse<String> response, Node node) throws Exception {
    double before = ownLookups(node);
    assertThat(next(node, response).statusCode()).isEqualTo(404);
    return ownLookups(node) > before;
  }

  private static double ownLookups(Node node) throws Exception {
    return TestNodes.manage(node, "/metrics").body().lines()
        .filter(line -> line.startsWith("kvasir_stored_response_lookups_total{known_by=\"local\"}"))
        .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' '))))
        .sum();
  }

  private static HttpResponse<String> next(Node node, HttpResponse<String> response) throws Exception {
    String id = JSON.readTree(response.body()).path("id").asText();
    return TestNodes.post(
        node, RESPONSES, "{\"model\":\"m\",\"input\":\"And then?\",\"previous_response_id\":\"%s\"}".formatted(id));
  }

  /** That the engine itself keeps nothing to build on does not matter here. */
  private static void assertIsFound(Node node, HttpResponse<String> response) {
    try {
      HttpResponse<String> next = next(node, response);
      assertThat(TestNodes.header(next, "X-Router-Backend"))
          .as(next.body())
          .isEqualTo(TestNodes.header(response, "X-Router-Backend"));
    } catch (Exception e) {
      throw new AssertionError("the response was not looked up", e);
    }
  }
}
