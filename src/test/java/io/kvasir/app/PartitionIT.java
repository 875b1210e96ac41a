package io.kvasir.app;

import static io.kvasir.Await.await;
import static io.kvasir.app.TestNodes.header;
import static org.assertj.core.api.Assertions.assertThat;

import com.typesafe.config.ConfigFactory;
import io.kvasir.access.KeyDigest;
import io.kvasir.app.config.KvasirConfig;
import io.kvasir.app.node.Node;
import io.kvasir.app.node.NodeSupervisor;
import io.kvasir.cell.ClusterStatus;
import io.kvasir.cell.ClusterStatus.NodeStatus;
import io.kvasir.load.Ports;
import io.kvasir.load.RelayNetwork;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.settings.EventSettings;
import io.kvasir.sim.settings.SimSettings;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Three whole nodes of which the network cuts one off, and heals. */
final class PartitionIT {
  private static final int NODES = 3;

  private final List<NodeSupervisor> nodes = new ArrayList<>();
  @TempDir private Path directory = Path.of("");

  private RelayNetwork network;

  private SimEngine engine;

  @AfterEach
  void stop() throws Exception {
    network.heal();
    nodes.forEach(NodeSupervisor::close);
    network.close();
    engine.close();
  }

  @Test
  void cutOff_servesAlone_andComesBack() throws Exception {
    start();
    int alone = cutOffTheHome();
    assertThat(header(ask(alone), "X-Router-Reason")).startsWith("fallback; this node is cut");
    assertThat(node(alone).readiness().obstacles()).isEmpty();
    assertThat(node(alone).readiness().degradations()).anyMatch(problem -> problem.what().startsWith("cut off"));
    assertThat(node(alone).fleet().cluster().nodes()).extracting(NodeStatus::state).contains("cut off");
    assertThat(node(alone).whenRejoinable().toCompletableFuture()).isNotDone();
    network.heal();
    await("three nodes again", () -> up() == NODES && homes().size() == 1 && ready());
    HttpResponse<String> again = ask(alone);
    assertThat(again.statusCode()).isEqualTo(200);
    await("nothing to be left booked",
        () -> node(0).fleet().workers().stream().allMatch(w -> w.load().inFlight() == 0));
    assertThat(node(alone).readiness().degradations()).isEmpty();
  }

  /** A line must not be a way around what is cut. */
  @Test
  void cutOff_asksTheHomeNoMore() throws Exception {
    start();
    int other = (home() + 1) % NODES;
    await("a decision over a line", () -> answers(other) && overLines(other) > 0);
    double until = overLines(other);
    network.partition(other);
    assertThat(header(ask(other), "X-Router-Reason")).startsWith("fallback");
    assertThat(overLines(other)).isEqualTo(until);
  }

  /** Each side goes by what it knew, and by the same after: what was disabled on either is refused on all. */
  @Test
  void keysThatChangeOnBothSides_areTheSameAfterwards() throws Exception {
    start("access { keys = [%s, %s], store = \"%s/keys-NODE.json\" }".formatted(
        entry("one"), entry("two"), directory));
    await("three nodes", () -> up() == NODES && ready());
    int alone = 0;
    int other = 1;
    network.partition(alone);
    await(
        "the others to go on",
        () -> node(alone).readiness().isStandalone()
            && node(other).fleet().cluster().nodes().size() == NODES - 1);
    assertThat(disable(other, "one")).doesNotContain("cut off");
    assertThat(disable(alone, "two")).contains("cut off");
    assertThat(status(other, "one")).isEqualTo(401);
    assertThat(status(alone, "one")).as("what the others have disabled meanwhile").isEqualTo(200);
    assertThat(status(other, "two")).isEqualTo(200);
    network.heal();
    await("three nodes again", () -> up() == NODES && ready());
    for (int node = 0; node < NODES; node++) {
      int which = node;
      await("node " + node + " to refuse both", () -> status(which, "one") == 401 && status(which, "two") == 401);
    }
  }

  private static String entry(String id) {
    return "{ id = %s, tenant = t, sha256 = %s }".formatted(id, KeyDigest.of("secret-of-" + id).hex());
  }

  private String disable(int node, String id) throws Exception {
    HttpResponse<String> answer = TestNodes.manage(node(node), "POST", "/admin/keys/" + id + "/disable", "");
    assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
    return answer.body();
  }

  private int status(int node, String id) throws Exception {
    return TestNodes.send(
            HttpRequest.newBuilder(TestNodes.gateway(node(node), "/v1/models"))
                .header("Authorization", "Bearer secret-of-" + id))
        .statusCode();
  }

  /** How many decisions a node was given over lines. */
  private double overLines(int node) throws Exception {
    String counted = "kvasir_remote_decision_seconds_count{way=\"line\"} ";
    return TestNodes.manage(node(node), "/metrics").body().lines()
        .filter(line -> line.startsWith(counted))
        .mapToDouble(line -> Double.parseDouble(line.substring(counted.length())))
        .sum();
  }

  /** Cuts off the node where the cell is at home, and waits until the others have it. */
  private int cutOffTheHome() {
    int cut = home();
    network.partition(cut);
    int other = (cut + 1) % NODES;
    await(
        "the others to go on", () -> node(cut).readiness().isStandalone() && hasHome(other) && answers(other));
    return cut;
  }

  /** Whether a node knows a home of the cell, and not the one cut off any more. */
  private boolean hasHome(int node) {
    ClusterStatus status = node(node).fleet().cluster();
    return status.cells().stream().allMatch(cell -> cell.home() != null) && status.nodes().size() == NODES - 1;
  }

  private boolean ready() {
    return nodes.stream().allMatch(each -> each.node().readiness().obstacles().isEmpty());
  }

  /** Whether requests are decided by the cell's home again. */
  private boolean answers(int node) throws Exception {
    HttpResponse<String> answer = ask(node);
    assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
    return !header(answer, "X-Router-Reason").startsWith("fallback");
  }

  private void start() throws Exception {
    start("");
    await(
        "three nodes",
        () -> up() == NODES && homes().size() == 1 && ready() && answers(0) && answers(1) && answers(2));
  }

  private void start(String more) throws Exception {
    engine = SimEngine.start(SimSettings.builder().port(0).speed(20).events(EventSettings.OFF).build());
    network = new RelayNetwork(NODES);
    for (int node = 0; node < NODES; node++) {
      String config =
          """
          kvasir {
            gateway { host = "127.0.0.1", port = %d, drain-timeout = 5 s }
            access.open-routing-details = true
            %s
            management.port = 0
            warm-up.enabled = false
            cluster.seed-nodes = ["%s", "%s", "%s"]
            models = [{ name = kvasir-demo, directory = "bundled:kvasir-demo", block-size = 16 }]
            pods = [{ name = engine, url = "%s", models = [kvasir-demo] }]
          }
          %s"""
              .formatted(
                  Ports.free(), more.replace("NODE", Integer.toString(node)),
                  network.address(0), network.address(1),
                  network.address(2), engine.url(),
                  network.settings(node));
      nodes.add(
          new NodeSupervisor(
              () -> KvasirConfig.of(ConfigFactory.parseString(config)),
              KvasirConfig.of(ConfigFactory.parseString(config))));
    }
  }

  /** The node where the cell is at home. */
  private int home() {
    String home = homes().getFirst();
    return IntStream.range(0, NODES).filter(node -> home.endsWith(network.address(node))).findFirst().orElseThrow();
  }

  /** Where the cell is at home, as far as nodes know. */
  private List<String> homes() {
    return nodes.stream()
        .flatMap(running -> running.node().fleet().cluster().cells().stream())
        .map(cell -> String.valueOf(cell.home()))
        .distinct()
        .toList();
  }

  /** How many nodes all nodes see up. */
  private long up() {
    return nodes.stream()
        .mapToLong(
            running ->
                running.node().fleet().cluster().nodes().stream().filter(node -> node.state().equals("up"))
                    .count())
        .min()
        .orElse(0);
  }

  private Node node(int number) {
    return nodes.get(number).node();
  }

  private HttpResponse<String> ask(int number) throws Exception {
    return TestNodes.post(
        node(number), "/v1/completions", "{\"model\":\"kvasir-demo\",\"prompt\":\"Tell me\",\"max_tokens\":2}");
  }
}
