package io.kvasir.app;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.Await;
import io.kvasir.app.node.Node;
import io.kvasir.load.Ports;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.settings.EventSettings;
import io.kvasir.sim.settings.SimSettings;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code kvasir doctor}, as operators run it: over a configuration, and over a running node. */
final class DoctorIT {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String MODELS =
      "kvasir.models = [{ name = kvasir-demo, directory = \"bundled:kvasir-demo\", block-size = %d }]\n";
  @TempDir private Path directory = Path.of("");

  private static SimEngine engine(int blockSize) throws Exception {
    return SimEngine.start(
        SimSettings.builder().port(0).speed(0).blockSize(blockSize).capacityBlocks(1000)
            .events(EventSettings.DEFAULT.withLoopback()).build());
  }

  private static String pods(SimEngine engine, String endpoint) {
    return """
        kvasir.pods = [{
          name = sim, url = "%s", models = [kvasir-demo]
          events { source = zmq, endpoint = "%s", replay = "%s" }
        }]
        """.formatted(engine.url(), endpoint, engine.replayEndpoint());
  }

  private TestCommand doctor(String configuration, String... more) throws Exception {
    Path file = Files.writeString(directory.resolve("kvasir.conf"), configuration);
    String[] arguments = new String[more.length + 3];
    arguments[0] = "doctor";
    arguments[1] = "--config";
    arguments[2] = file.toString();
    System.arraycopy(more, 0, arguments, 3, more.length);
    return TestCommand.run(arguments);
  }

  @Test
  void aHealthyFleet_isSaidToBe_andTheStatusIs0() throws Exception {
    try (SimEngine engine = engine(16)) {
      TestCommand done = doctor(MODELS.formatted(16) + pods(engine, String.valueOf(engine.eventsEndpoint())));

      assertThat(done.out()).as(done.err()).endsWith("1 engine examined: nothing is wrong.\n");
      assertThat(done.status()).isZero();
    }
  }

  /** What the router would learn from its engine the doctor asks, too. */
  @Test
  void aPodOfAUrlOnly_isExamined() throws Exception {
    try (SimEngine engine = engine(16)) {
      TestCommand done = doctor(MODELS.formatted(16) + "kvasir.pods = [{ url = \"%s\" }]".formatted(engine.url()));

      assertThat(done.out()).as(done.err()).contains("1 engine examined");
      assertThat(done.out()).doesNotContain("ERROR");
    }
    TestCommand gone = doctor(MODELS.formatted(16) + "kvasir.pods = [{ url = \"http://127.0.0.1:9\" }]");
    assertThat(gone.out()).as(gone.err()).contains("127.0.0.1:9", "1 engine examined: 1 error");
    assertThat(gone.status()).isEqualTo(2);
  }

  @Test
  void aWarning_isStatus1() throws Exception {
    try (SimEngine engine = engine(16)) {
      TestCommand done = doctor(pods(engine, String.valueOf(engine.eventsEndpoint())));

      assertThat(done.out()).as(done.err())
          .contains("WARNING (tokenizer): model kvasir-demo", "Why it matters: ", "What to do: Add kvasir.models")
          .endsWith("1 engine examined: 0 errors, 1 warning.\n");
      assertThat(done.status()).isEqualTo(1);
    }
  }

  @Test
  void anError_isStatus2_andJsonIsForScripts() throws Exception {
    try (SimEngine engine = engine(16)) {
      // The engine's HTTP port in place of its events'.
      TestCommand done =
          doctor(MODELS.formatted(16) + pods(engine, "tcp://127.0.0.1:" + engine.url().getPort()), "--json");

      // Engines and nodes of this process log there, too.
      JsonNode json = JSON.readTree(done.out().substring(done.out().indexOf("{\n")));
      assertThat(json.path("engines").intValue()).isEqualTo(1);
      assertThat(json.path("status").intValue()).isEqualTo(2).isEqualTo(done.status());
      JsonNode finding = json.path("findings").path(0);
      assertThat(finding.path("check").textValue()).isEqualTo("event-transport");
      assertThat(finding.path("severity").textValue()).isEqualTo("error");
      assertThat(finding.path("problem").textValue()).contains("wrong transport");
      assertThat(finding.path("why").textValue()).isNotEmpty();
      assertThat(finding.path("remedy").textValue()).contains("events.endpoint");
    }
  }

  @Test
  void noConfiguration_orNoRouter_isStatus2() {
    assertThat(TestCommand.run("doctor", "--config", "nowhere.conf").status()).isEqualTo(2);
    TestCommand nobody = TestCommand.run("doctor", "--management", "http://127.0.0.1:9");
    assertThat(nobody.status()).isEqualTo(2);
    assertThat(nobody.err()).contains("nothing answers at http://127.0.0.1:9");
  }

  @Test
  void aRunningNode_isExaminedWithItsEngines_andItsPrompts() throws Exception {
    try (SimEngine engine = engine(512);
        Node node =
            TestNodes.start(
                "kvasir.decisions.sample = 1\n" + MODELS.formatted(512)
                    + pods(engine, String.valueOf(engine.eventsEndpoint())))) {
      Await.await(() -> TestNodes.manage(node, "/ready").statusCode() == 200);
      Await.await(
          "its events",
          () -> JSON.readTree(TestNodes.manage(node, "/admin/sources").body())
              .at("/sources/0/connected").asBoolean());
      for (int i = 0; i < 3; i++) {
        HttpResponse<String> answer =
            TestNodes.post(node, "/v1/completions",
                "{\"model\":\"kvasir-demo\",\"prompt\":\"Hello there\",\"max_tokens\":1}");
        assertThat(answer.statusCode()).isEqualTo(200);
      }

      TestCommand done = TestCommand.run("doctor", "--management", TestNodes.management(node, "").toString());

      assertThat(done.out()).as(done.err())
          .contains("WARNING (prompt-length): http://127.0.0.1:",
              "3 of the latest 3 prompts are shorter than a block of 512 tokens")
          .contains("1 engine examined: 0 errors, 1 warning");
      assertThat(done.status()).isEqualTo(1);
    }
  }

  private Node member(Certificates made, String certificate, int port, int first, String more) throws Exception {
    return TestNodes.start(
        """
        kvasir.cluster {
          port = %d, seed-nodes = ["127.0.0.1:%d"]
          tls { certificate = "%s", key = "%s", authority = "%s" }
        }
        %s
        """.formatted(
            port, first, made.certificate(certificate), made.key(certificate), made.certificate("ca"), more));
  }

  @Test
  void aCluster_isExaminedByEachOfItsNodes() throws Exception {
    Certificates made =
        new Certificates(directory).authority("ca").node("node", "ca").expiring("old", "ca", 5);
    int[] ports = {Ports.free(), Ports.free(), Ports.free(), Ports.free()};
    String pushed =
        "kvasir.pods = [{ name = p, url = \"http://127.0.0.1:9\", models = [m]"
            + ", events { source = push, key = %s } }]\n";
    // Nothing listens where the second says that its line is.
    String forwarded = "kvasir.cluster { line-port = %d, line-bind-port = %d }\n".formatted(ports[2], ports[3]);
    try (Node first = member(made, "node", ports[0], ports[0], pushed.formatted("a-secret"));
        Node second = member(made, "old", ports[1], ports[0], forwarded + pushed.formatted("another"))) {
      String one = "127.0.0.1:" + ports[0];
      String two = "127.0.0.1:" + ports[1];
      Await.await(() -> JSON.readTree(TestNodes.manage(first, "/admin/nodes").body()).path("links").size() == 6);

      TestCommand done = TestCommand.run("doctor", "--management", TestNodes.management(second, "").toString());

      assertThat(done.out()).as(done.err())
          .contains("WARNING (node-ports): node " + two + System.lineSeparator() + "  " + one
              + " does not reach its port for decisions, 127.0.0.1:" + ports[2] + ": the connection is refused")
          .contains("WARNING (node-settings): node " + one, "kvasir.pods[0].events.key is \"***\" there")
          .contains("old.crt of kvasir.cluster.tls at " + two, "it is valid until ")
          .contains("not reached:")
          .containsPattern("\n" + one + " +(-|line) +(-|line)\n")
          .doesNotContain("a-secret", "another\"", "ERROR (node", "(node-certificates)");
      JsonNode links = JSON.readTree(TestNodes.manage(second, "/admin/nodes").body()).path("links");
      assertThat(links).extracting(
              link -> link.path("from").asText() + " " + link.path("port").asText() + " "
                  + link.path("outcome").asText())
          .containsExactlyInAnyOrder(
              one + " cluster open", one + " line refused", one + " gateway open",
              two + " cluster open", two + " line open", two + " gateway open");
    }
  }
}
