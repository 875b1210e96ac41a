package io.kvasir.app;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.typesafe.config.ConfigFactory;
import io.kvasir.app.command.DemoCommand;
import io.kvasir.app.node.Node;
import io.kvasir.cell.ClusterStatus;
import io.kvasir.cell.ClusterStatus.NodeStatus;
import io.kvasir.console.Browser;
import io.kvasir.load.Ports;
import io.kvasir.load.RelayNetwork;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.settings.EventSettings;
import io.kvasir.sim.settings.SimSettings;
import java.net.URI;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The console in a browser, at one of three whole nodes with simulated engines: what it shows is what the API says. */
final class ConsoleIT {
  private static final int NODES = 3;
  private static final int ENGINES = 3;
  private static final String KEY = "the-key-of-these-tests-0123";
  private static final ObjectMapper JSON = new ObjectMapper();

  /** A model's name, which whoever configures an engine may choose. */
  private static final String MARKUP = "<img src=x onerror=window.hurt=1>";

  private static final List<SimEngine> ENGINES_STARTED = new ArrayList<>();
  private static final List<Node> STARTED = new ArrayList<>();

  private static RelayNetwork network;

  private static Browser browser;

  @BeforeAll
  static void start() throws Exception {
    browser = Browser.start();
    StringBuilder pods = new StringBuilder();
    for (int i = 0; i < ENGINES; i++) {
      SimEngine engine =
          SimEngine.start(
              SimSettings.builder().host("127.0.0.1").port(0).model("kvasir-demo").speed(20).seed(i)
                  .events(EventSettings.DEFAULT.withLoopback()).build());
      ENGINES_STARTED.add(engine);
      pods.append(
          """
          { name = sim-%d, url = "%s", models = [kvasir-demo, "%s"]
            events { endpoint = "%s", replay = "%s" } }
          """.formatted(i, engine.url(), MARKUP, engine.eventsEndpoint(), engine.replayEndpoint()));
    }
    network = new RelayNetwork(NODES);
    for (int node = 0; node < NODES; node++) {
      STARTED.add(TestNodes.start(ConfigFactory.parseString(
          """
          kvasir {
            gateway.port = %d
            management { port = 0, admin-keys = ["%s operator"] }
            warm-up.enabled = false
            decisions.sample = 1
            cluster.seed-nodes = ["%s", "%s", "%s"]
            models = [{ name = kvasir-demo, directory = "bundled:kvasir-demo", block-size = 16 }]
            pods = [ %s ]
          }
          %s"""
              .formatted(
                  Ports.free(), KEY, network.address(0), network.address(1), network.address(2), pods,
                  network.settings(node)))));
    }
    await("three nodes with all workers", () -> STARTED.stream().allMatch(ConsoleIT::isWhole));
    for (int turn = 0; turn < 6; turn++) {
      for (Node node : STARTED) {
        assertThat(TestNodes.post(node, "/v1/chat/completions", """
            {"model": "kvasir-demo", "max_tokens": 4, "messages": [
              {"role": "system", "content": "%s"}, {"role": "user", "content": "And in turn %d?"}]}
            """.formatted(EndToEndIT.words(turn % 2, 200), turn)).statusCode()).isEqualTo(200);
      }
    }
    signIn();
  }

  @AfterAll
  static void stop() throws Exception {
    if (browser != null) {
      browser.close();
    }
    STARTED.forEach(Node::close);
    STARTED.clear();
    ENGINES_STARTED.forEach(SimEngine::close);
    ENGINES_STARTED.clear();
    if (network != null) {
      network.close();
    }
  }

  @Test
  void overview_showsWhatTheApiSays() throws Exception {
    go("overview");
    browser.until("document.querySelectorAll('[role=gridcell]').length == " + ENGINES);
    browser.until("document.querySelector('.liveness.live')");
    assertThat(browser.text("[data-vital=Workers] b")).isEqualTo("3 / 3");
    assertThat(browser.text("[data-vital=Nodes] b")).isEqualTo("3 / 3");
    browser.until("document.querySelector('.heading p').innerText.includes('Traffic of all 3 nodes')");
    for (JsonNode node : asked("vitals").path("by_node")) {
      assertThat(node.path("answers").asBoolean()).as(node.toString()).isTrue();
      assertThat(browser.text("section[aria-label='By node']")).contains(node.path("node").asText());
    }
    assertThat(browser.text(".status .node")).contains(asked("vitals").path("node").asText());
    browser.screenshot("live-overview");
    for (JsonNode worker : asked("workers").path("workers")) {
      go("overview?worker=" + worker.path("id").asText());
      browser.until("document.querySelector('[data-drawer] h2').innerText == arguments[0]", worker.path("id").asText());
      assertThat(browser.text("[data-drawer]"))
          .contains(worker.path("url").asText(), "%,d".formatted(worker.path("blocks").asInt()), MARKUP);
    }
    browser.screenshot("live-worker");
    wellBehaved();
  }

  @Test
  void decisions_areThoseRecorded_eachAtItsOwnAddress() throws Exception {
    go("decisions");
    JsonNode recorded = asked("decisions?limit=100").path("decisions");
    browser.until("document.querySelectorAll('main tbody tr').length == arguments[0]", "" + recorded.size());
    browser.screenshot("live-decisions");
    browser.click("main tbody a");
    JsonNode last = recorded.get(0);
    assertThat(browser.text("[data-decision]")).contains(
        last.path("reason").asText(),
        last.at("/plan/0/worker").asText(),
        "%,d".formatted(last.at("/plan/0/cached_tokens").asInt()));
    for (JsonNode candidate : last.at("/passes/0/candidates")) {
      assertThat(browser.text("[data-decision] table")).contains(candidate.path("worker").asText());
    }
    browser.screenshot("live-decision");
    wellBehaved();
  }

  @Test
  void explain_saysWhatWouldBeDone_alsoByAnotherProfile() throws Exception {
    go("explain");
    browser.until("document.querySelector('[data-explain]')");
    browser.script("document.querySelector('#request').value = arguments[0]", """
        {"model": "kvasir-demo", "messages": [
          {"role": "system", "content": "%s"}, {"role": "user", "content": "And in turn 7?"}]}
        """.formatted(EndToEndIT.words(1, 200)));
    browser.script("""
        const other = document.querySelectorAll('form select')[2];
        other.value = 'round-robin';
        other.dispatchEvent(new Event('change'))""");
    browser.click("[data-explain]");
    browser.until("document.querySelectorAll('[data-decision]').length == 2");
    assertThat(browser.text(".verdict")).contains("round-robin would send it to", "expected-cost to sim-");
    assertThat(browser.text("[data-decision] .reason")).contains("cached=").doesNotContain("cached=0/");
    browser.screenshot("live-explain");
    wellBehaved();
  }

  @Test
  void cluster_showsNodesAndHomes() throws Exception {
    go("cluster");
    JsonNode cluster = asked("cluster");
    browser.until("document.querySelectorAll('main table')[0].tBodies[0].rows.length == " + NODES);
    for (JsonNode node : cluster.path("nodes")) {
      assertThat(node.path("uptime_s").isNumber()).as(node.toString()).isTrue();
      assertThat(browser.text("main")).contains(node.path("address").asText());
    }
    browser.until("[...document.querySelectorAll('main .mark')].some(mark => mark.innerText == 'home')");
    browser.screenshot("live-cluster");
    wellBehaved();
  }

  @Test
  void profiles_showPlugins() throws Exception {
    go("profiles");
    for (JsonNode profile : asked("profiles").path("profiles")) {
      assertThat(browser.text("main")).contains(profile.path("name").asText());
    }
    browser.screenshot("live-profiles");
    wellBehaved();
  }

  @Test
  void everyPageThatIsOffered_isDrawn() throws Exception {
    JsonNode offered = browser.script("return [...document.querySelectorAll('nav a')].map(a => a.hash.slice(2))");
    assertThat(offered).extracting(JsonNode::asText)
        .contains("overview", "decisions", "explain", "cluster", "profiles");
    for (JsonNode page : offered) {
      go(page.asText());
      browser.until("document.querySelector('.liveness.live')");
      browser.screenshot("live-" + page.asText());
    }
    wellBehaved();
  }

  @Test
  void sources_areThoseOfTheApi() throws Exception {
    go("sources");
    JsonNode sources = asked("sources").path("sources");
    browser.until("document.querySelectorAll('main tbody tr').length == arguments[0]", "" + sources.size());
    for (JsonNode source : sources) {
      assertThat(browser.text("main table"))
          .contains(
              source.path("worker").asText(),
              source.path("mode").asText(),
              "%,d".formatted(source.path("rows").asInt()));
    }
    wellBehaved();
  }

  @Test
  void prefixes_areThoseOfTheRequests() throws Exception {
    JsonNode tree = asked("prefixes?model=kvasir-demo");
    assertThat(tree.path("sampled_requests").asInt()).isPositive();
    JsonNode shared = tree.at("/roots/0");
    assertThat(shared.path("requests").asInt()).isGreaterThan(1);
    assertThat(shared.path("holders").asInt()).isPositive();
    go("prefixes?model=kvasir-demo");
    browser.until("document.querySelectorAll('[role=treeitem]').length > 1");
    assertThat(browser.text("main")).contains(shared.path("hash").asText());
    browser.screenshot("live-prefixes");
    wellBehaved();
  }

  @Test
  void log_hasWhatAdministratorsDid() throws Exception {
    assertThat(
        TestNodes.manage(shown(), "POST", "/admin/profiles/reload", "", "Authorization", "Bearer " + KEY).statusCode())
        .isLessThan(500);
    go("log");
    assertThat(browser.text("main table")).contains("operator", "POST /admin/profiles/reload");
    wellBehaved();
  }

  @Test
  void drain_reachesEveryNode() throws Exception {
    go("overview?worker=sim-1");
    browser.click("[data-drain]");
    browser.click("dialog [data-agree]");
    await("the pod to drain, as every node sees it", () -> STARTED.stream().allMatch(ConsoleIT::isDraining));
    browser.until("document.querySelector('[data-drawer] .mark').innerText.startsWith('drain')");
    browser.screenshot("live-drained");
    browser.click("[data-drain]");
    browser.click("dialog [data-agree]");
    await("the pod to serve again", () -> STARTED.stream().noneMatch(ConsoleIT::isDraining));
    browser.until("document.querySelector('[data-drawer] .mark').innerText == 'healthy'");
    wellBehaved();
  }

  private static boolean isDraining(Node node) {
    return node.fleet().workers().stream()
        .anyMatch(worker -> worker.worker().pod().equals("sim-1") && worker.draining());
  }

  private static boolean isWhole(Node node) {
    return node.readiness().obstacles().isEmpty()
        && DemoCommand.healthy(node) == ENGINES
        && node.fleet().cluster().nodes().stream().filter(each -> each.state().equals("up")).count() == NODES;
  }

  private static void signIn() {
    browser.open(TestNodes.management(shown(), "/console"), 1280, "light");
    browser.type("#key", KEY);
    browser.click("form .primary");
    browser.until("document.querySelector('.vitals')");
    // The browser itself complains of the first answer, which wants a key.
    assertThat(browser.complaints()).allMatch(complaint -> complaint.contains("/admin/session"));
  }

  private static void go(String page) {
    browser.script("location.hash = '#/' + arguments[0]", page);
    browser.until(
        "document.querySelector(`[data-page=${arguments[0]}]`) && !document.querySelector('main [aria-busy]')",
        page.replaceFirst("[/?].*", ""));
  }

  /** Nothing to complain of, no markup of others' making, nobody else asked. */
  private static void wellBehaved() throws Exception {
    assertThat(browser.complaints()).isEmpty();
    assertThat(browser.script("return document.querySelectorAll('img').length == 0 && window.hurt === undefined")
        .asBoolean()).isTrue();
    String own = TestNodes.management(shown(), "").getAuthority();
    assertThat(browser.requests()).extracting(URI::getAuthority).allMatch(own::equals);
  }

  /** The node whose console is open: the one where the cell is at home, which records decisions. */
  private static Node shown() {
    return STARTED.stream().filter(ConsoleIT::isHome).findFirst().orElseThrow();
  }

  private static boolean isHome(Node node) {
    ClusterStatus status = node.fleet().cluster();
    String self = status.nodes().stream().filter(NodeStatus::self).findFirst().orElseThrow().address();
    return self.equals(status.cells().getFirst().home());
  }

  private static JsonNode asked(String path) throws Exception {
    HttpResponse<String> answer =
        TestNodes.manage(shown(), "GET", "/admin/" + path, "", "Authorization", "Bearer " + KEY);
    assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
    return JSON.readTree(answer.body());
  }
}
