package io.kvasir.app;

import static io.kvasir.Await.await;
import static io.kvasir.app.TestNodes.header;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.app.command.DemoCommand;
import io.kvasir.app.config.KvasirConfig;
import io.kvasir.app.node.Node;
import io.kvasir.load.Ports;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.settings.EventSettings;
import io.kvasir.sim.settings.SimSettings;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The example of semantic clusters, served by a node that has its own fleet embed what it is asked. */
final class SemanticClustersIT {
  private static final Path EXAMPLE = Path.of("conf/examples/semantic-clusters.conf");
  private static final String MODEL = "kvasir-demo";
  private static final String CODE = "Write a function that reverses a list in Python";
  private static final String TRAVEL = "Which hotel near the beach do you recommend for our holiday?";
  private static final String OTHER = "Tell me of the kings who ruled Denmark";
  private static final ObjectMapper JSON = new ObjectMapper();

  private final List<SimEngine> engines = new ArrayList<>();
  @TempDir private Path directory = Path.of("");
  private @Nullable Node node;

  @BeforeEach
  void start() throws Exception {
    for (int i = 0; i < 3; i++) {
      engines.add(
          SimEngine.start(
              SimSettings.builder().host("127.0.0.1").port(0).model(MODEL).speed(0).events(EventSettings.OFF).build()));
    }
    write("");
    Node started = new Node(KvasirConfig.load(directory.resolve("router.conf")));
    node = started;
    await("all workers to be healthy", () -> DemoCommand.healthy(started) == engines.size());
    await("the clusters to be in service", () -> !admin("GET", "/ready").contains("semantic clusters"));
  }

  @AfterEach
  void stop() {
    if (node != null) {
      node.close();
    }
    engines.forEach(SimEngine::close);
  }

  @Test
  void requests_goToTheWorkersOfTheirCluster_andItShows() throws Exception {
    for (boolean stream : List.of(false, true)) {
      HttpResponse<String> code = chat(CODE, stream);
      assertThat(header(code, "X-Router-Backend")).isEqualTo("coder");
      assertThat(header(code, "X-Router-Reason")).contains("candidates=1").contains("; cluster=code");
      assertThat(header(chat(TRAVEL, stream), "X-Router-Backend")).isEqualTo("guide");
      assertThat(header(chat(OTHER, stream), "X-Router-Reason")).contains("candidates=3").contains("; cluster=none");
    }

    JsonNode dry = JSON.readTree(TestNodes.post(node(), "/v1/route/v1/chat/completions", body(TRAVEL, false)).body());
    assertThat(dry.at("/reason").asText()).contains("; cluster=travel");
    assertThat(dry.at("/passes/0/candidates"))
        .anyMatch(at -> at.path("removed_by").asText().equals("semantic-cluster"));
    assertThat(admin("GET", "/admin/decisions"))
        .contains("\"semantic-cluster\":\"code\\nskill=code\"", "cluster=none");
    assertThat(admin("GET", "/metrics"))
        .contains("kvasir_semantic_requests_total{cluster=\"code\"} 2.0", "kvasir_semantic_ready 1.0");
  }

  @Test
  void clusterWithoutAWorker_isServedByOthers() throws Exception {
    engines.getFirst().close();

    for (int i = 0; i < 3; i++) {
      HttpResponse<String> answer = chat(CODE, false);
      assertThat(answer.statusCode()).isEqualTo(200);
      assertThat(header(answer, "X-Router-Backend")).isNotEqualTo("coder");
      assertThat(header(answer, "X-Router-Reason")).contains("; cluster=code:unserved");
    }
    assertThat(admin("GET", "/metrics")).contains("kvasir_semantic_unserved_total{cluster=\"code\"}");
  }

  @Test
  void reload_takesOtherClustersUp() throws Exception {
    write(
        """
        kvasir.routing.semantic-clusters.clusters = [
          { name = kings, examples = ["%s"], workers { skill = travel }, threshold = 0.9 }
        ]
        """
            .formatted(OTHER));
    assertThat(admin("POST", "/admin/profiles/reload")).contains("\"result\"");

    await("the other clusters to be in service", () -> reason(OTHER).contains("; cluster=kings"));
    assertThat(reason(CODE)).contains("; cluster=none");

    write("kvasir.routing.semantic-clusters.clusters = [{ name = none }]");
    assertThat(admin("POST", "/admin/profiles/reload")).contains("clusters[0].name");
    assertThat(reason(OTHER)).contains("; cluster=kings");
  }

  /** The example with the engines of this test, and with more. */
  private void write(String more) throws IOException {
    Path file = directory.resolve("router.conf");
    int port = Files.exists(file) ? node().gateway().getPort() : Ports.free();
    StringBuilder pods = new StringBuilder();
    List<String> names = List.of("coder", "guide", "any");
    List<String> labels = List.of("skill = code", "skill = travel", "");
    for (int i = 0; i < engines.size(); i++) {
      pods.append(
          "{ name = %s, url = \"%s\", models = [%s], labels { %s } }\n"
              .formatted(names.get(i), engines.get(i).url(), MODEL, labels.get(i)));
    }
    Files.writeString(
        file,
        """
        include file("%s")
        kvasir {
          gateway { host = "127.0.0.1", port = %d, drain-timeout = 1 s }
          access.open-routing-details = true
          management.port = 0
          pods = [ %s ]
          decisions { sample = 1, path = "" }
          routing.reload-interval = 0 s
          routing.semantic-clusters.embeddings { url = "http://127.0.0.1:%d", budget = 10 s, timeout = 60 s }
        }
        %s
        """
            .formatted(EXAMPLE.toAbsolutePath(), port, pods, port, more));
  }

  private Node node() {
    return Objects.requireNonNull(node);
  }

  private String reason(String text) throws Exception {
    return header(chat(text, false), "X-Router-Reason");
  }

  private HttpResponse<String> chat(String text, boolean stream) throws Exception {
    return TestNodes.post(node(), "/v1/chat/completions", body(text, stream));
  }

  private static String body(String text, boolean stream) {
    return """
        {"model": "%s", "max_tokens": 4, "stream": %s, "messages": [
          {"role": "system", "content": "Be brief."}, {"role": "user", "content": "%s"}]}
        """
        .formatted(MODEL, stream, text);
  }

  private String admin(String method, String path) throws Exception {
    return TestNodes.manage(node(), method, path, "").body();
  }
}
