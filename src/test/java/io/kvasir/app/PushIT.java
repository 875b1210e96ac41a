package io.kvasir.app;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.typesafe.config.ConfigFactory;
import io.kvasir.events.Recording;
import java.io.ByteArrayOutputStream;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Pushed events over HTTP, to one node and to either of two. */
final class PushIT {
  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final ObjectMapper JSON = new ObjectMapper();

  private final HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private final List<Node> nodes = new ArrayList<>();

  @AfterEach
  void stop() {
    nodes.forEach(Node::close);
    http.close();
  }

  @Test
  void ndjson_isTaken_andFaultsAreTold() throws Exception {
    Node node = node("");
    String stored =
        """
        {"seq": 0, "events": [{"type": "BlockStored", "block_hashes": [11, 12], "parent_block_hash": null,
        "token_ids": [1,2,3,4,5,6,7,8], "block_size": 4}]}"""
            .replace("\n", " ");
    HttpResponse<String> answer = push(node, "a", stored + "\n{\"seq\": 1, \"events\": []}\n", "Bearer secret");
    assertThat(answer.statusCode()).as(answer.body()).isEqualTo(202);
    assertThat(JSON.readTree(answer.body()).path("next").asInt()).isEqualTo(2);
    assertThat(JSON.readTree(answer.body()).path("complete").asBoolean()).isTrue();
    await("the blocks to be indexed", () -> blocks("a") == 2);

    HttpResponse<String> wrong =
        push(node, "a", "\n{\"seq\": 2, \"events\": [{\"type\": \"BlockRemoved\"}]}", "Bearer secret");
    assertThat(wrong.statusCode()).isEqualTo(400);
    assertThat(message(wrong)).contains("line 2", "events[0].block_hashes");
    assertThat(push(node, "a", stored, "Bearer guess").statusCode()).isEqualTo(401);
    assertThat(push(node, "none", stored, "").statusCode()).isEqualTo(404);
    assertThat(push(node, "b", stored, "").statusCode()).isEqualTo(404);
    assertThat(push(node, "b?rank=1", stored, "").statusCode()).isEqualTo(202);
    assertThat(push(node, "no-push", stored, "").statusCode()).isEqualTo(503);
    HttpResponse<String> read =
        http.send(HttpRequest.newBuilder(uri(node, "a")).GET().build(), BodyHandlers.ofString());
    assertThat(read.statusCode()).isEqualTo(405);
  }

  @Test
  void recordedVllm_asMsgpack_isNumbered() throws Exception {
    Node node = node("");
    ByteArrayOutputStream body = new ByteArrayOutputStream();
    List<Recording.Message> messages = Recording.events().toList();
    messages.forEach(message -> body.writeBytes(message.payload()));
    HttpResponse<String> answer =
        http.send(
            HttpRequest.newBuilder(uri(node, "a"))
                .header("Content-Type", "application/msgpack")
                .header("Authorization", "Bearer secret")
                .header("Kvasir-Sequence", "0")
                .POST(BodyPublishers.ofByteArray(body.toByteArray()))
                .build(),
            BodyHandlers.ofString());
    assertThat(answer.statusCode()).as(answer.body()).isEqualTo(202);
    JsonNode taken = JSON.readTree(answer.body());
    assertThat(taken.path("batches").asInt()).isEqualTo(messages.size());
    assertThat(taken.path("complete").asBoolean()).isTrue();
    await(
        "every message to be applied",
        () -> node.cells().workers().stream()
            .anyMatch(w -> w.worker().id().equals("a") && w.lastSequence() == messages.size() - 1 && !w.suspect()));
  }

  @Test
  void twoNodes_eitherTakesWhatTheOtherReads() throws Exception {
    int first = freePort();
    int second = freePort();
    String cluster = "cluster { seed-nodes = [\"127.0.0.1:%d\", \"127.0.0.1:%d\"], port = %d }\n";
    Node one = node(cluster.formatted(first, second, first));
    Node two = node(cluster.formatted(first, second, second));
    for (int i = 0; i < 20; i++) {
      String line = "{\"seq\": " + i + ", \"events\": []}";
      Node at = i % 2 == 0 ? one : two;
      await("a push to be taken", () -> taken(at, line));
    }
    assertThat(push(two, "a", "{\"seq\": 20, \"events\": []}", "").statusCode()).isEqualTo(401);
    assertThat(push(one, "a", "{\"seq\": 20, \"events\": []}", "").statusCode()).isEqualTo(401);
    for (Node node : nodes) {
      assertThat(push(node, "none", "{\"seq\": 20, \"events\": []}", "").statusCode()).isEqualTo(404);
    }
  }

  private boolean taken(Node node, String line) {
    try {
      int status = push(node, "a", line, "Bearer secret").statusCode();
      assertThat(status).isIn(202, 404, 503);
      return status == 202;
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  private Node node(String cluster) throws Exception {
    Node node =
        new Node(
            KvasirConfig.of(
                ConfigFactory.parseString(
                    """
                    kvasir {
                      gateway { host = "127.0.0.1", port = 0, drain-timeout = 1 s }
                      management.port = 0
                      models = [{ name = m, mode = text, block-size = 4 }]
                      pods = [
                        { name = a, url = "http://127.0.0.1:1", models = [m], events { source = push, key = secret } }
                        { name = b, url = "http://127.0.0.1:1", models = [m], ranks = 2, events { source = push } }
                        { name = no-push, url = "http://127.0.0.1:1", models = [m] }
                      ]
                    %s}
                    """
                        .formatted(cluster))));
    nodes.add(node);
    if (nodes.size() == 1) {
      await("the cell to be at home", () -> node.cells().workers().size() == 4);
    }
    return node;
  }

  private HttpResponse<String> push(Node node, String worker, String body, String authorization) throws Exception {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(uri(node, worker)).timeout(PATIENCE).POST(BodyPublishers.ofString(body));
    if (!authorization.isEmpty()) {
      request.header("Authorization", authorization);
    }
    return http.send(request.build(), BodyHandlers.ofString(StandardCharsets.UTF_8));
  }

  private static URI uri(Node node, String worker) {
    return URI.create("http://127.0.0.1:" + node.gateway().getPort() + "/v1/events/" + worker);
  }

  private static String message(HttpResponse<String> answer) throws Exception {
    return JSON.readTree(answer.body()).at("/error/message").asText();
  }

  private int blocks(String worker) {
    return nodes.getFirst().cells().workers().stream()
        .filter(status -> status.worker().id().equals(worker))
        .mapToInt(status -> status.blocks())
        .sum();
  }

  private static int freePort() throws Exception {
    try (ServerSocket socket = new ServerSocket(0)) {
      return socket.getLocalPort();
    }
  }
}
