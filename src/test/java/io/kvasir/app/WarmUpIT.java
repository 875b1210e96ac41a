package io.kvasir.app;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import com.typesafe.config.ConfigFactory;
import io.kvasir.access.KeyDigest;
import io.kvasir.app.config.KvasirConfig;
import io.kvasir.app.node.Node;
import io.kvasir.app.node.NodeSupervisor;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

/** A node's warm-up before it is ready. */
final class WarmUpIT {
  @TempDir private Path directory = Path.of("");

  private final Logger logger = (Logger) LoggerFactory.getLogger("io.kvasir.app.node.WarmUp");
  private final ListAppender<ILoggingEvent> logged = new ListAppender<>();

  @BeforeEach
  void record() {
    logger.setLevel(Level.DEBUG);
    logger.addAppender(logged);
    logged.start();
  }

  @AfterEach
  void detach() {
    logger.detachAppender(logged);
    logger.setLevel(null);
  }

  /** The node requires keys, and the warm-up has none. */
  @Test
  void node_saysThatItWarmsUp_andIsReadyAfterwards_withoutATrace() throws Exception {
    Path accessLog = directory.resolve("access.jsonl");
    try (NodeSupervisor supervisor = start("warm-up.limit = 4 s", accessLog)) {
      Node node = supervisor.node();
      HttpResponse<String> warming = TestNodes.manage(node, "/ready");
      assertThat(warming.statusCode()).isEqualTo(503);
      assertThat(warming.body()).contains("warming up");

      awaitReady(node);
      assertThat(node.cells().workers()).isEmpty();
      String metrics = TestNodes.manage(node, "/metrics").body();
      assertThat(metrics.lines().filter(line -> line.matches("kvasir_requests_total.* [1-9].*"))).isEmpty();
      assertThat(metrics.lines().filter(line -> line.contains("warm-up"))).isEmpty();
      assertThat(Files.exists(accessLog) ? Files.readString(accessLog) : "").isEmpty();
      assertRequestsWereAnswered();
      // The gateway of the warm-up is closed, the node's own requires a key.
      assertThat(TestNodes.post(node, "/v1/chat/completions", "{}").statusCode()).isEqualTo(401);
    }
  }

  /** Its one engine is of both roles. */
  @Test
  void requests_areAnswered_withTheOperatorsProfile() throws Exception {
    String profile =
        """
        warm-up.limit = 4 s
        routing.profile = prefill-decode
        routing.profiles.prefill-decode.workflow.remote-prefill = always
        """;
    try (NodeSupervisor supervisor = start(profile, directory.resolve("access.jsonl"))) {
      awaitReady(supervisor.node());
      assertRequestsWereAnswered();
    }
  }

  @Test
  void nodeThatIsNotToWarmUp_isReadyWithoutIt() throws Exception {
    try (NodeSupervisor supervisor =
        start("warm-up { enabled = false, limit = 1 h }", directory.resolve("access.jsonl"))) {
      awaitReady(supervisor.node());
    }
  }

  @Test
  void node_isReady_whenThereIsNoTimeToWarmUp() throws Exception {
    try (NodeSupervisor supervisor = start("warm-up.limit = 1 ms", directory.resolve("access.jsonl"))) {
      awaitReady(supervisor.node());
    }
  }

  private static NodeSupervisor start(String settings, Path accessLog) throws Exception {
    KvasirConfig config =
        KvasirConfig.of(
            ConfigFactory.parseString(
                """
                kvasir {
                  gateway { host = "127.0.0.1", port = 0, drain-timeout = 1 s }
                  management.port = 0
                  models = [{ name = kvasir-demo, directory = "bundled:kvasir-demo" }]
                  access.keys = [{ id = a, tenant = t, sha256 = %s }]
                  access-log.path = "%s"
                  %s
                }
                """
                    .formatted(KeyDigest.of("secret-of-a").hex(), accessLog, settings)));
    return new NodeSupervisor(() -> config, config);
  }

  private void assertRequestsWereAnswered() {
    await("what the warm-up logs", () -> sent().findAny().isPresent());
    assertThat(sent()).allMatch(count -> count > 0);
    assertThat(logged.list).filteredOn(event -> event.getLevel().isGreaterOrEqual(Level.WARN)).isEmpty();
  }

  /** How many requests the warm-up logs that it has sent. */
  private Stream<Integer> sent() {
    return List.copyOf(logged.list).stream()
        .filter(event -> event.getMessage().endsWith("requests have warmed the node up"))
        .map(event -> (Integer) event.getArgumentArray()[0]);
  }

  private static void awaitReady(Node node) {
    await("a ready node", () -> TestNodes.manage(node, "/ready").statusCode() == 200);
  }
}
