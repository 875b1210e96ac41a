package io.kvasir.app;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.app.node.Node;
import io.kvasir.events.Recording;
import io.kvasir.load.Ports;
import java.io.ByteArrayOutputStream;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Pushed events over HTTP, to one node and to either of two. */
final class PushIT {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final List<Node> nodes = new ArrayList<>();

  @AfterEach
  void stop() {
    nodes.forEach(Node::close);
  }

  @Test
  void ndjson_isTaken_andFaultsAreTold() throws Exception {
    Node node = node("");
    String stored =
        """
        {"seq": 0, "events": [{"type": "BlockStored", "block_hashes": [11, 12], "parent_block_hash": null,
        "token_ids": [1,2,3,4,5,6,7,8], "block_size": 4}]}"""
            .replace("\n", " ");
    HttpResponse<String> answer =
        onceTaken(request(node, "a", stored + "\n{\"seq\": 1, \"events\": []}\n", "Bearer secret"));
    assertThat(answer.statusCode()).as(answer.body()).isEqualTo(202);
    assertThat(JSON.readTree(answer.body()).path("next").asInt()).isEqualTo(2);
    assertThat(JSON.readTree(answer.body()).path("complete").asBoolean()).isTrue();
    await("the blocks to be indexed", () -> blocks("a") == 2);

    HttpResponse<String> wrong =
        push(node, "a", "\n{\"seq\": 2, \"events\": [{\"type\": \"BlockRemoved\"}]}", "Bearer secret");
    assertThat(wrong.statusCode()).isEqualTo(400);
    assertThat(message(wrong)).contains("line 2", "events[0].block_hashes");
    assertThat(push(node, "a", stored, "Bearer guess").statusCode()).isEqualTo(401);
    assertThat(push(node, "none", stored, "").statusCode()).isEqualTo(401);
    assertThat(push(node, "b", stored, "").statusCode()).isEqualTo(401);
    assertThat(push(node, "b?rank=1", stored, "").statusCode()).isEqualTo(202);
    assertThat(push(node, "no-push", stored, "").statusCode()).isEqualTo(503);
    assertThat(TestNodes.send(HttpRequest.newBuilder(uri(node, "a")).GET()).statusCode()).isEqualTo(405);
  }

  @Test
  void recordedVllm_asMsgpack_isNumbered() throws Exception {
    Node node = node("");
    ByteArrayOutputStream body = new ByteArrayOutputStream();
    List<Recording.Message> messages = Recording.events().toList();
    messages.forEach(message -> body.writeBytes(message.payload()));
    HttpResponse<String> answer =
        onceTaken(
            HttpRequest.newBuilder(uri(node, "a"))
                .header("Content-Type", "application/msgpack")
                .header("Authorization", "Bearer secret")
                .header("Kvasir-Sequence", "0")
                .POST(BodyPublishers.ofByteArray(body.toByteArray())));
    assertThat(answer.statusCode()).as(answer.body()).isEqualTo(202);
    JsonNode taken = JSON.readTree(answer.body());
    assertThat(taken.path("batches").asInt()).isEqualTo(messages.size());
    assertThat(taken.path("complete").asBoolean()).isTrue();
    await(
        "every message to be applied",
        () -> node.fleet().workers().stream()
            .filter(status -> status.worker().id().equals("a"))
            .anyMatch(status -> status.index().lastSequence() == messages.size() - 1 && !status.index().suspect()));
  }

  @Test
  void twoNodes_eitherTakesWhatTheOtherReads() throws Exception {
    int first = Ports.free();
    int second = Ports.free();
    String cluster = "cluster { seed-nodes = [\"127.0.0.1:%d\"], port = %d }\n";
    Node one = node(cluster.formatted(first, first));
    Node two = node(cluster.formatted(first, second));
    for (int i = 0; i < 20; i++) {
      String line = "{\"seq\": " + i + ", \"events\": []}";
      Node at = i % 2 == 0 ? one : two;
      await("a push to be taken", () -> taken(at, line));
    }
    assertThat(push(two, "a", "{\"seq\": 20, \"events\": []}", "").statusCode()).isEqualTo(401);
    assertThat(push(one, "a", "{\"seq\": 20, \"events\": []}", "").statusCode()).isEqualTo(401);
    for (Node node : nodes) {
      assertThat(push(node, "none", "{\"seq\": 20, \"events\": []}", "").statusCode()).isEqualTo(401);
    }
  }

  private static boolean taken(Node node, String line) throws Exception {
    int status = push(node, "a", line, "Bearer secret").statusCode();
    assertThat(status).isIn(202, 401, 503);
    return status == 202;
  }

  private Node node(String cluster) throws Exception {
    Node node =
        TestNodes.start(
            """
            kvasir {
              models = [{ name = m, mode = text, block-size = 4 }]
              pods = [
                { name = a, url = "http://127.0.0.1:1", models = [m], events { source = push, key = secret } }
                { name = b, url = "http://127.0.0.1:1", models = [m], ranks = 2,
                  events { source = push, insecure = true } }
                { name = no-push, url = "http://127.0.0.1:1", models = [m] }
              ]
            %s}
            """
                .formatted(cluster));
    nodes.add(node);
    if (nodes.size() == 1) {
      await("the cell to be at home", () -> node.fleet().workers().size() == 4);
    }
    return node;
  }

  private static HttpResponse<String> push(Node node, String worker, String body, String authorization)
      throws Exception {
    return TestNodes.send(request(node, worker, body, authorization));
  }

  private static HttpRequest.Builder request(Node node, String worker, String body, String authorization) {
    HttpRequest.Builder request = HttpRequest.newBuilder(uri(node, worker)).POST(BodyPublishers.ofString(body));
    return authorization.isEmpty() ? request : request.header("Authorization", authorization);
  }

  /** The answer to a push once the worker's events are read, which begins a moment after its cell is at home. */
  private static HttpResponse<String> onceTaken(HttpRequest.Builder request) {
    List<HttpResponse<String>> answers = new ArrayList<>();
    await("events to be read", () -> {
      answers.add(TestNodes.send(request));
      return answers.getLast().statusCode() != 503;
    });
    return answers.getLast();
  }

  private static URI uri(Node node, String worker) {
    return TestNodes.gateway(node, "/v1/events/" + worker);
  }

  private static String message(HttpResponse<String> answer) throws Exception {
    return JSON.readTree(answer.body()).at("/error/message").asText();
  }

  private int blocks(String worker) {
    return nodes.getFirst().fleet().workers().stream()
        .filter(status -> status.worker().id().equals(worker))
        .mapToInt(status -> status.index().blocks())
        .sum();
  }
}
