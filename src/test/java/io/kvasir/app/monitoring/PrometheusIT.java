package io.kvasir.app.monitoring;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.typesafe.config.ConfigFactory;
import io.kvasir.TestPrograms;
import io.kvasir.app.config.KvasirConfig;
import io.kvasir.app.node.Node;
import io.kvasir.load.Ports;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.settings.EventSettings;
import io.kvasir.sim.settings.SimSettings;
import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A real Prometheus with the committed configuration, which scrapes a real node before a simulated engine. */
final class PrometheusIT {
  private static final HttpClient HTTP = HttpClient.newHttpClient();
  private static final ObjectMapper JSON = new ObjectMapper();

  private static final List<AutoCloseable> STARTED = new ArrayList<>();
  private static int port;

  @BeforeAll
  static void start(@TempDir Path directory) throws Exception {
    String program = TestPrograms.pathOrSkip("prometheus");
    SimEngine engine =
        SimEngine.start(
            SimSettings.builder().host("127.0.0.1").model("kvasir-demo").speed(20)
                .events(EventSettings.DEFAULT.withLoopback().withPorts(0, 0)).build());
    STARTED.addFirst(engine);
    String settings =
        """
        kvasir {
          gateway { host = "127.0.0.1", port = 0, drain-timeout = 1 s }
          management.port = 0
          models = [
            { name = kvasir-demo, directory = "bundled:kvasir-demo", block-size = 16 }
            { name = nobody, mode = text }
          ]
          pods = [
            { name = sim, url = "%s", models = [kvasir-demo], events { endpoint = "%s", replay = "%s" } }
            { name = away, url = "http://127.0.0.1:9", models = [nobody] }
          ]
        }
        """.formatted(engine.url(), engine.eventsEndpoint(), engine.replayEndpoint());
    Node node = new Node(KvasirConfig.of(ConfigFactory.parseString(settings)));
    STARTED.addFirst(node);
    await("an answer", () -> chat(node) == 200);

    for (String file : List.of("prometheus.yaml", "kvasir.rules.yaml")) {
      // The committed files but for the pace: a test does not wait for every fifteenth second.
      String text = Files.readString(AlertingRules.DIRECTORY.resolve(file));
      Files.writeString(directory.resolve(file), text.replaceAll("_interval: \\d+s", "_interval: 1s"));
    }
    Files.writeString(
        directory.resolve("targets.yaml"),
        "- targets: [\"127.0.0.1:%d\"]\n  labels: { cluster: test }\n".formatted(node.management().getPort()));
    port = Ports.free();
    Process prometheus =
        new ProcessBuilder(
                program,
                "--config.file=" + directory.resolve("prometheus.yaml"),
                "--storage.tsdb.path=" + directory.resolve("data"),
                "--web.listen-address=127.0.0.1:" + port)
            .redirectErrorStream(true)
            .redirectOutput(directory.resolve("log").toFile())
            .start();
    STARTED.addFirst(() -> {
      prometheus.destroy();
      prometheus.waitFor();
    });
    await("Prometheus answers; see " + directory.resolve("log"), () -> {
      assertThat(prometheus.isAlive()).as("runs: %s", Files.readString(directory.resolve("log"))).isTrue();
      return isReady();
    });
  }

  @AfterAll
  static void stop() throws Exception {
    for (AutoCloseable each : STARTED) {
      each.close();
    }
    STARTED.clear();
  }

  @Test
  void nodes_areScraped() {
    await("the node to be up", () -> asked("targets").at("/activeTargets/0/health").asText().equals("up"));
    await("its metrics", () -> query("kvasir_worker_healthy{cluster=\"test\"} == 1").size() == 1);
  }

  @Test
  void everyRule_isEvaluated_andAnAlertIsRaised() {
    List<JsonNode> rules = new ArrayList<>();
    await("all rules to be evaluated", () -> {
      rules.clear();
      asked("rules").path("groups").forEach(group -> group.path("rules").forEach(rules::add));
      return rules.size() > 40 && rules.stream().noneMatch(rule -> rule.path("health").asText().equals("unknown"));
    });
    assertThat(rules).allSatisfy(rule -> assertThat(rule.path("health").asText()).as(rule.toString()).isEqualTo("ok"));
    await("an alert of the cell whose worker is not there", () ->
        query("ALERTS{alertname=\"KvasirNoHealthyWorker\", cell=\"nobody\"}").size() == 1);
  }

  @Test
  void everyQueryOfADashboard_isAnswered() throws Exception {
    for (String query : queriesOfDashboards()) {
      String expression =
          query.replace("$__rate_interval", "1m").replace("$ttft_slo", "1.024").replaceAll("\\$\\w+", ".*");
      JsonNode answer = get("query?query=" + URLEncoder.encode(expression, StandardCharsets.UTF_8));
      assertThat(answer.path("status").asText()).as(expression + ": " + answer).isEqualTo("success");
    }
  }

  @Test
  void slosOfDashboards_areBoundsOfTheHistogram() {
    await("time to first token to be scraped", () -> query("kvasir_ttft_seconds_bucket").size() > 0);
    List<String> bounds = new ArrayList<>();
    query("kvasir_ttft_seconds_bucket").forEach(series -> bounds.add(series.at("/metric/le").asText()));
    assertThat(bounds).containsAll(DashboardVariables.TTFT_SLOS);
  }

  private static List<String> queriesOfDashboards() throws IOException {
    List<String> queries = new ArrayList<>();
    try (Stream<Path> files = Files.list(Path.of("cluster-configs/grafana"))) {
      for (Path file : files.filter(each -> each.toString().endsWith(".json")).toList()) {
        JSON.readTree(file.toFile()).path("panels")
            .forEach(panel -> panel.path("targets").forEach(target -> queries.add(target.path("expr").asText())));
      }
    }
    assertThat(queries).hasSizeGreaterThan(100);
    return queries;
  }

  private static int chat(Node node) throws Exception {
    String body =
        """
        {"model": "kvasir-demo", "stream": true, "max_tokens": 4, "messages": [{"role": "user", "content": "Hello"}]}
        """;
    HttpRequest request =
        HttpRequest.newBuilder(node.gatewayUrl().resolve("/v1/chat/completions"))
            .header("Content-Type", "application/json")
            .POST(BodyPublishers.ofString(body))
            .build();
    return HTTP.send(request, BodyHandlers.ofString()).statusCode();
  }

  private static JsonNode query(String expression) {
    return asked("query?query=" + URLEncoder.encode(expression, StandardCharsets.UTF_8)).path("result");
  }

  private static JsonNode asked(String path) {
    return get(path).path("data");
  }

  private static JsonNode get(String path) {
    try {
      return JSON.readTree(send("/api/v1/" + path));
    } catch (IOException | InterruptedException failed) {
      throw new AssertionError(path, failed);
    }
  }

  private static boolean isReady() throws Exception {
    try {
      return send("/-/ready").contains("Ready");
    } catch (ConnectException notYet) {
      return false;
    }
  }

  private static String send(String path) throws IOException, InterruptedException {
    URI uri = URI.create("http://127.0.0.1:" + port + path);
    return HTTP.send(HttpRequest.newBuilder(uri).build(), BodyHandlers.ofString()).body();
  }
}
