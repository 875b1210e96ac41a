package io.kvasir.app;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.app.node.Node;
import io.kvasir.load.Ports;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.settings.SimSettings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code kvasir top} beside a node: printed into a pipe, and on a terminal of its own. */
final class TopIT {
  private static final ObjectMapper JSON = new ObjectMapper();

  private static SimEngine engine;

  private static Node node;

  @TempDir private Path directory = Path.of("");

  @BeforeAll
  static void start() throws Exception {
    engine = SimEngine.start(SimSettings.builder().host("127.0.0.1").port(0).model("kvasir-demo").speed(100).build());
    node =
        TestNodes.start(
            """
            kvasir {
              models = [{ name = kvasir-demo, directory = "bundled:kvasir-demo" }]
              pods = [{ name = sim-7, url = "%s", models = [kvasir-demo] }]
            }
            """
                .formatted(engine.url()));
    await("the worker to be healthy", () -> TestNodes.manage(node, "/admin/workers").body().contains("\"healthy\""));
  }

  @AfterAll
  static void stop() {
    node.close();
    engine.close();
  }

  @Test
  void intoAPipe_onePlainFrame() {
    TestCommand top = top("--once");
    assertThat(top.status()).as(top.err()).isZero();
    assertThat(top.out())
        .contains("kvasir ", "nodes 1/1", "workers 1/1", "requests/s", "FLIGHT by cell", "sim-7", "serving")
        .doesNotContain("\u001b", "\r");
    assertThat(top("--once", "--sort", "cache").out()).contains("CACHE by cell", ">CACHE");
  }

  @Test
  void json_isWhatTheRouterAnswers() throws Exception {
    String printed = top("--json").out();
    // The node logs in this process, too.
    JsonNode shown = JSON.readTree(printed.substring(printed.indexOf("{\n")));
    assertThat(shown.at("/vitals/workers/healthy").asInt()).isEqualTo(1);
    assertThat(shown.at("/workers/0/pod").asText()).isEqualTo("sim-7");
  }

  @Test
  void figureThatThereIsNot_namesThoseThereAre() {
    TestCommand top = top("--sort", "beauty");
    assertThat(top.status()).isEqualTo(2);
    assertThat(top.err()).contains("beauty", "in-flight", "CACHE");
  }

  @Test
  void nobodyThere_isSaid() {
    String nowhere = "http://127.0.0.1:" + Ports.free();
    TestCommand top = TestCommand.run("top", "--management", nowhere);
    assertThat(top.status()).isEqualTo(1);
    assertThat(top.err()).contains("nothing answers at " + nowhere);
  }

  @Test
  void onATerminal_drawsOnTheAlternateScreenAndGivesItBack() throws Exception {
    Path counted = countedStty();
    String top =
        "PATH='%s':$PATH %s".formatted(directory, TestTerminal.kvasir("top --management " + node.managementUrl()));
    try (TestTerminal terminal =
        TestTerminal.run(
            directory,
            "before=$(stty -g); " + top + "; echo \"status $?\"; test \"$before\" = \"$(stty -g)\" && echo same")) {
      await("a frame", () -> terminal.shown().contains("FLIGHT by cell"));
      terminal.type("p");
      await("the figure that the key chooses", () -> terminal.shown().contains("PENDING by cell"));
      await("frames without a key", () -> terminal.shown().split("\u001b\\[H", -1).length > 5);
      terminal.type("q");
      assertThat(terminal.awaitEnd()).isTrue();
      String all = terminal.shown();
      assertThat(all).contains("\u001b[?1049h", "\u001b[?25l");
      assertThat(all.substring(all.lastIndexOf("\u001b[?25h\u001b[?1049l"))).contains("status 0", "same");
    }
    assertThat(Files.readAllLines(counted)).as("processes, however many frames").hasSize(3)
        .first().isEqualTo("-g");
  }

  /** Puts an {@code stty} into the directory that writes into a file what it is asked for. */
  private Path countedStty() throws IOException {
    Path counted = directory.resolve("stty.log");
    Path stty = Files.writeString(directory.resolve("stty"), """
        #!/bin/sh
        echo "$*" >> '%s'
        exec /usr/bin/env PATH=/usr/bin:/bin stty "$@"
        """.formatted(counted));
    Files.setPosixFilePermissions(stty, PosixFilePermissions.fromString("rwx------"));
    return counted;
  }

  private static TestCommand top(String... arguments) {
    return TestCommand.run(
        Stream.concat(
                Stream.of("top", "--management", node.managementUrl().toString()), Stream.of(arguments))
            .toArray(String[]::new));
  }
}
