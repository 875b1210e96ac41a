package io.kvasir.app;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.net.httpserver.HttpServer;
import io.kvasir.access.KeyDigest;
import io.kvasir.app.config.KvasirConfig;
import io.kvasir.app.node.Node;
import io.kvasir.gateway.admin.AdminDocument;
import io.kvasir.gateway.admin.AdminRoute;
import io.kvasir.gateway.admin.DemoHandler;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A whole node that wants a key, administered over HTTP and by the command line; each test has a pod of its own. */
final class AdminIT {
  private static final String KEY = "the-key-of-these-tests-0123";
  private static final String CLIENT_KEY = "kv-the-key-of-a-client";
  private static final String CHAT =
      "{\"model\":\"%s\",\"messages\":[{\"role\":\"user\",\"content\":\"Hello\"}]}";
  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final ObjectMapper JSON = new ObjectMapper();

  /** Lets the pod answer requests for the model "held". */
  private static final CountDownLatch HELD = new CountDownLatch(1);

  private static HttpServer pod;

  private static Node node;

  @TempDir private static Path directory = Path.of("");

  @BeforeAll
  static void start() throws Exception {
    pod = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    pod.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
    pod.createContext("/health", exchange -> exchange.sendResponseHeaders(200, -1));
    pod.createContext("/v1/chat/completions", exchange -> {
      if (new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8).contains("\"held\"")) {
        hold();
      }
      byte[] answer = "{\"choices\":[]}".getBytes(StandardCharsets.UTF_8);
      exchange.getResponseHeaders().set("Content-Type", "application/json");
      exchange.sendResponseHeaders(200, answer.length);
      exchange.getResponseBody().write(answer);
      exchange.close();
    });
    pod.start();
    Files.writeString(directory.resolve("key"), KEY + "\n");
    node = new Node(KvasirConfig.load(configured("expected-cost")));
  }

  @AfterAll
  static void stop() {
    HELD.countDown();
    node.close();
    pod.stop(0);
  }

  @Test
  void routesAndDocument_areTheSame() {
    assertThat(node.admin().routes().stream().map(AdminIT::operation)).containsExactlyInAnyOrderElementsOf(
        AdminDocument.operations());
    for (AdminRoute route : node.admin().routes()) {
      assertThat(AdminDocument.parameters(operation(route))).as(operation(route)).isEqualTo(route.parameters());
    }
  }

  @Test
  void everyOperation_answersAsDescribed() throws Exception {
    Set<String> called = new TreeSet<>();
    String added = described("all", "m-all");
    called.add(done("POST /admin/workers", "/admin/workers", added, 201));
    await("the worker to be healthy", () -> healthy("all"));
    assertThat(chat("m-all").join().statusCode()).isEqualTo(200);
    await("the decision's outcome", () -> {
      JsonNode decisions = asked("/admin/decisions?model=m-all");
      return decisions.at("/decisions/0/outcomes/0/outcome").asText().equals("completed");
    });
    called.add(done("POST /admin/figures", "/admin/figures", "{\"price\":{\"all\":1.5}}", 202));
    called.add(done("POST /admin/profiles/reload", "/admin/profiles/reload", "", 200));
    called.add(done("POST /admin/cache/flush", "/admin/cache/flush", "{\"all\":true}", 200));
    called.add(done("POST /admin/workers/{pod}/drain", "/admin/workers/all/drain", "", 200));
    called.add(done("POST /admin/workers/{pod}/undrain", "/admin/workers/all/undrain", "", 200));
    assertThat(asked("/admin/demo").at("/error/code").asText()).isEqualTo("not_found");
    node.demo().offer(new NoTraffic());
    called.add(done("POST /admin/demo", "/admin/demo", "{\"running\":true}", 200));
    String level = "{\"logger\":\"io.kvasir.access\",\"level\":null}";
    called.add(done("POST /admin/log/levels", "/admin/log/levels", level, 200));
    called.add(done("POST /admin/explain", "/admin/explain", explained("m-all"), 200));
    called.add(done("POST /admin/keys", "/admin/keys", "{\"id\":\"all\",\"tenant\":\"t\"}", 201));
    for (String change : new String[] {"disable", "enable", "rotate"}) {
      called.add(done("POST /admin/keys/{id}/" + change, "/admin/keys/all/" + change, "", 200));
    }
    for (String operation : AdminDocument.operations()) {
      if (operation.equals("GET /admin/decisions/{id}")) {
        String id = asked("/admin/decisions?model=m-all").at("/decisions/0/id").asText();
        called.add(done(operation, "/admin/decisions/" + id, "", 200));
      } else if (operation.equals("GET /admin/prefixes")) {
        called.add(done(operation, "/admin/prefixes?model=m-all", "", 200));
      } else if (operation.equals("GET /admin/watch")) {
        called.add(operation);
        String begun = watched("vitals,cluster,workers,sources,tenants");
        assertThat(begun).startsWith("event: ").contains("data: {\"full\":{");
      } else if (operation.startsWith("GET ")) {
        called.add(done(operation, operation.substring(4).replaceFirst("\\{(pod|id)}", "all"), "", 200));
      }
    }
    called.add(done("DELETE /admin/keys/{id}", "/admin/keys/all", "", 200));
    called.add(done("DELETE /admin/workers/{pod}", "/admin/workers/all", "", 200));
    assertThat(called).containsExactlyElementsOf(AdminDocument.operations());
  }

  @Test
  void explanation_isThatOfTheDryRun_forViewersToo() throws Exception {
    String viewer = "the-key-of-another-viewer";
    done("POST /admin/workers", "/admin/workers", described("why", "m-why"), 201);
    await("the worker to be healthy", () -> healthy("why"));
    HttpResponse<String> dryRun =
        TestNodes.post(
            node, "/v1/route/v1/chat/completions", CHAT.formatted("m-why"), "Authorization", "Bearer " + CLIENT_KEY);
    assertThat(dryRun.statusCode()).as(dryRun.body()).isEqualTo(200);
    Files.writeString(directory.resolve("key"), KEY + "\n" + viewer + " ann viewer\n");
    HttpResponse<String> answer = send("POST", "/admin/explain", explained("m-why"), viewer);
    Files.writeString(directory.resolve("key"), KEY + "\n");

    assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
    ObjectNode explained = (ObjectNode) JSON.readTree(answer.body());
    assertThat(explained.at("/compared/least-loaded/profile").asText()).isEqualTo("least-loaded");
    assertThat(alike(explained)).isEqualTo(alike((ObjectNode) JSON.readTree(dryRun.body())));
  }

  private static String explained(String model) {
    return "{\"path\": \"/v1/chat/completions\", \"body\": %s, \"compare\": [\"least-loaded\"]}"
        .formatted(CHAT.formatted(model));
  }

  /** Without what differs between two explanations of the same. */
  private static JsonNode alike(ObjectNode decision) {
    return decision.without(List.of("time", "request_id", "compared"));
  }

  @Test
  void stream_tellsWhatChanges_andEndsWithItsKey() throws Exception {
    String viewer = "the-key-of-a-viewer-0123";
    Files.writeString(directory.resolve("key"), KEY + "\n" + viewer + " eve viewer\n");
    try (InputStream stream = stream("workers", viewer)) {
      BufferedReader lines = new BufferedReader(new InputStreamReader(stream, StandardCharsets.UTF_8));
      assertThat(lines.readLine()).isEqualTo("event: workers");
      assertThat(lines.readLine()).startsWith("data: {\"full\":{\"workers\":{");
      done("POST /admin/workers", "/admin/workers", described("seen", "m-seen"), 201);
      String line = lines.readLine();
      while (!line.contains("\"seen\"")) {
        line = lines.readLine();
      }
      assertThat(line).startsWith("data: {\"patch\":{\"workers\":{\"seen\":{");
      done("DELETE /admin/workers/{pod}", "/admin/workers/seen", "", 200);
      while (!line.contains("\"seen\":null")) {
        line = lines.readLine();
      }
      Files.writeString(directory.resolve("key"), KEY + "\n");
      while (line != null) {
        line = lines.readLine();
      }
    } finally {
      Files.writeString(directory.resolve("key"), KEY + "\n");
    }
  }

  /** The first two lines of a stream. */
  private static String watched(String topics) throws Exception {
    try (InputStream stream = stream(topics, KEY)) {
      BufferedReader lines = new BufferedReader(new InputStreamReader(stream, StandardCharsets.UTF_8));
      return lines.readLine() + "\n" + lines.readLine();
    }
  }

  private static InputStream stream(String topics, String key) throws Exception {
    HttpResponse<InputStream> answer =
        TestNodes.open(node, "/admin/watch?topics=" + topics, "Authorization", "Bearer " + key);
    assertThat(answer.statusCode()).isEqualTo(200);
    assertThat(answer.headers().firstValue("Content-Type")).hasValue("text/event-stream");
    return answer.body();
  }

  @Test
  void withoutTheKey_onlyAdministrationIsClosed() throws Exception {
    for (String path : new String[] {"/admin/workers", "/admin/openapi.json", "/admin/nothing"}) {
      HttpResponse<String> refused = send("GET", path, "", null);
      assertThat(refused.statusCode()).as(path).isEqualTo(401);
      assertThat(refused.headers().firstValue("WWW-Authenticate")).isPresent();
    }
    for (String path : new String[] {"/metrics", "/ready", "/alive", "/cluster/members"}) {
      assertThat(send("GET", path, "", null).statusCode()).as(path).isEqualTo(200);
    }
    assertThat(send("GET", "/metrics", "", null).body()).contains("kvasir_admin_requests_total{").doesNotContain(KEY);
  }

  @Test
  void commandLine_workersComeDrainAndGo() throws Exception {
    TestCommand added = admin("workers", "add", "cli", podUrl(), "--model", "held", "--label", "zone=a");
    assertThat(added.out()).as(added.err()).contains("cli: added, 1 worker");
    await("the worker to be healthy", () -> healthy("cli"));
    assertThat(admin("workers", "list").out()).contains("WORKER", "cli", "healthy");
    assertThat(admin("cells").out()).contains("CELL", "held");
    String json = admin("workers", "list", "--json").out();
    // The node logs to the same place.
    assertThat(JSON.readTree(json.substring(json.indexOf("{\n"))).at("/workers/0/id").isTextual()).isTrue();

    CompletableFuture<HttpResponse<String>> held = chat("held");
    await("the request to be in flight", () -> asked("/admin/workers/cli").path("in_flight").asInt() == 1);
    TestCommand impatient = admin("workers", "drain", "cli", "--wait", "--timeout", "0");
    assertThat(impatient.status()).isEqualTo(1);
    assertThat(impatient.err()).contains("'cli' still has 1 requests");
    assertThat(admin("workers", "undrain", "cli").out()).contains("cli: serving, 1 request in flight");
    assertThat(admin("workers", "drain", "cli").out()).contains("cli: draining, 1 request in flight");
    HELD.countDown();
    assertThat(admin("workers", "drain", "cli", "--wait").out()).contains("cli: drained, 0 requests in flight");
    assertThat(held.get(60, TimeUnit.SECONDS).statusCode()).isEqualTo(200);
    assertThat(admin("workers", "list").out()).contains("drained");
    assertThat(admin("workers", "remove", "cli").out()).contains("cli: removed");
    assertThat(admin("workers", "remove", "cli").err()).contains("there is no pod 'cli'");
  }

  @Test
  void commandLine_showsAndReloads() throws Exception {
    assertThat(admin("profiles", "show").out()).contains("expected-cost", "everybody else");
    assertThat(admin("profiles", "show", "expected-cost").out()).contains("STAGE", "score", "SLOT", "chain");
    assertThat(admin("profiles", "show", "prefill-decode").out()).contains("step prefill: ", "step decode: ");
    assertThat(admin("profiles", "show", "fastest").err()).contains("'fastest'", "expected-cost");
    assertThat(admin("caches", "show").out()).contains("store", "memory", "hits");
    assertThat(admin("caches", "flush", "--model", "m", "--tenant", "t").out()).contains("0 answers are forgotten");
    assertThat(admin("caches", "flush").status()).isEqualTo(2);
    assertThat(admin("decisions", "--limit", "3").out()).contains("REQUEST", "WORKERS");
    assertThat(admin("decisions", "--limit", "0").err()).contains("limit has to be a number from 1 to 1000");
    assertThat(admin("config", "gateway.port").out()).contains("kvasir.gateway.port", "router.conf:2");
    assertThat(admin("config", "--set").out()).contains("kvasir.routing.profile").doesNotContain("kvasir.cell.slots");
    assertThat(command("cluster", "status").out()).contains("NODE", "(answers)", "CELL", "WORKER");

    var _ = configured("fastest");
    TestCommand refused = admin("profiles", "reload");
    assertThat(refused.status()).isEqualTo(1);
    assertThat(refused.err()).contains("nothing was changed", "router.conf:5: kvasir.routing.profile", "'fastest'");
    var _ = configured("expected-cost");
    assertThat(admin("profiles", "reload").status()).isZero();
  }

  @Test
  void commandLine_withoutTheKey_saysWhatToDo() throws Exception {
    String url = TestNodes.management(node, "").toString();
    TestCommand refused = TestCommand.run("admin", "cells", "--management", url);
    assertThat(refused.status()).isEqualTo(1);
    assertThat(refused.err()).contains("--key-file");
    Path wrong = Files.writeString(directory.resolve("wrong"), "another-key-0123456789\n");
    assertThat(TestCommand.run("admin", "cells", "--management", url, "--key-file", wrong.toString()).err())
        .contains("none of this router's").doesNotContain("another-key");
    assertThat(TestCommand.run("admin", "cells", "--key-file", directory.resolve("none").toString()).err())
        .contains("cannot be read");
  }

  private static Path configured(String profile) throws IOException {
    return Files.writeString(directory.resolve("router.conf"), """
        kvasir {
          gateway { host = "127.0.0.1", port = 0 }
          access.keys = [{ id = client, tenant = t, sha256 = %s, routing-details = true }]
          management { port = 0, admin-key-file = "%s" }
          routing { profile = %s, reload-interval = 0 s }
          answers.store = memory
          decisions.sample = 1
        }
        """.formatted(KeyDigest.of(CLIENT_KEY).hex(), directory.resolve("key"), profile));
  }

  private static String operation(AdminRoute route) {
    return route.method() + " " + route.path();
  }

  private static String podUrl() {
    return "http://127.0.0.1:" + pod.getAddress().getPort();
  }

  private static String described(String name, String model) {
    return "{\"name\":\"%s\",\"url\":\"%s\",\"models\":[\"%s\"]}".formatted(name, podUrl(), model);
  }

  /** Calls an operation, whose answer has to be as the document says. */
  private static String done(String operation, String target, String body, int status) throws Exception {
    String method = operation.substring(0, operation.indexOf(' '));
    HttpResponse<String> answer = send(method, target, body, KEY);
    assertThat(answer.statusCode()).as(answer.body()).isEqualTo(status);
    AdminDocument.assertDescribed(operation, status, JSON.readTree(answer.body()));
    return operation;
  }

  private static JsonNode asked(String target) throws Exception {
    return JSON.readTree(send("GET", target, "", KEY).body());
  }

  private static HttpResponse<String> send(
      String method, String target, String body, @Nullable String key) throws Exception {
    String[] headers = key == null ? new String[0] : new String[] {"Authorization", "Bearer " + key};
    return TestNodes.manage(node, method, target, body, headers);
  }

  private static CompletableFuture<HttpResponse<String>> chat(String model) {
    return TestNodes.postAsync(node, "/v1/chat/completions", CHAT.formatted(model), "Authorization",
        "Bearer " + CLIENT_KEY);
  }

  private static TestCommand admin(String... arguments) {
    return command(Stream.concat(Stream.of("admin"), Arrays.stream(arguments)).toArray(String[]::new));
  }

  private static TestCommand command(String... arguments) {
    String url = TestNodes.management(node, "").toString();
    return TestCommand.run(
        Stream.concat(
                Arrays.stream(arguments),
                Stream.of("--management", url, "--key-file", directory.resolve("key").toString()))
            .toArray(String[]::new));
  }

  private static boolean healthy(String name) throws Exception {
    JsonNode workers = asked("/admin/workers/" + name).path("workers");
    return !workers.isEmpty() && workers.findValuesAsText("health").stream().allMatch("healthy"::equals);
  }

  private static void hold() throws IOException {
    try {
      if (!HELD.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
        throw new IOException("waited too long");
      }
    } catch (InterruptedException e) {
      throw new IOException(e);
    }
  }

  /** Traffic of which there is none. */
  private static final class NoTraffic implements DemoHandler.Traffic {
    @Override
    public boolean running() {
      return false;
    }

    @Override
    public double rate() {
      return 1;
    }

    @Override
    public void change(boolean run, double perSecond) {}
  }
}
