package io.kvasir.gateway.admin;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.ThrowableProxyUtil;
import ch.qos.logback.core.read.ListAppender;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.http.Headers;
import io.kvasir.http.server.Response;
import io.kvasir.telemetry.AuditLog;
import io.kvasir.telemetry.LogFileSettings;
import io.kvasir.telemetry.Metrics;
import io.kvasir.telemetry.TestMetrics;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;

final class AdminApiTest {
  private static final String OLD = "an-old-key-0123456789";
  private static final String NEW = "a-new-key-9876543210";
  private static final ObjectMapper JSON = new ObjectMapper();

  private final PrometheusRegistry registry = new PrometheusRegistry();
  private AuditLog audit = TestAdmin.audit();

  @Test
  void routes_areFoundByPathAndMethod() throws IOException {
    AdminApi api = api(new AdminKeys(List.of(), null));

    assertThat(json(api.handle(request("GET", "/admin/things/a%2Fb?colour=dark+red"))).toString())
        .isEqualTo("{\"thing\":\"a/b\",\"colour\":\"dark red\"}");
    assertThat(api.handle(request("POST", "/admin/things")).status()).isEqualTo(201);
  }

  @ParameterizedTest
  @CsvSource({
    "GET,  /admin/nothing,            404, not_found",
    "GET,  /admin/things/,            404, not_found",
    "GET,  /admin/things/a/b,         404, not_found",
    "GET,  /admin/things/%,           400, invalid_request",
    "GET,  /admin/things/a?size=1,    400, invalid_request",
    "GET,  /admin/things/a?colour=%x, 400, invalid_request",
    "GET,  /admin/things/a?colour=a&colour=b, 400, invalid_request",
    "GET,  /admin/broken,             500, internal_error"
  })
  void whatIsAskedWrongly_isTold(String method, String target, int status, String code) throws IOException {
    Response answer = api(new AdminKeys(List.of(), null)).handle(request(method, target));

    assertThat(answer.status()).isEqualTo(status);
    assertThat(json(answer).at("/error/code").textValue()).isEqualTo(code);
    assertThat(json(answer).at("/error/message").textValue()).isNotBlank();
  }

  @Test
  void failure_isLogged_withoutWhatItSays() {
    Logger log = (Logger) LoggerFactory.getLogger(AdminApi.class);
    ListAppender<ILoggingEvent> logged = new ListAppender<>();
    logged.start();
    log.addAppender(logged);
    try {
      assertThat(api(new AdminKeys(List.of(), null)).handle(request("GET", "/admin/broken")).status()).isEqualTo(500);
    } finally {
      log.detachAppender(logged);
    }
    assertThat(logged.list).filteredOn(line -> line.getFormattedMessage().contains("/admin/broken"))
        .singleElement().satisfies(line -> {
      assertThat(line.getFormattedMessage()).isEqualTo("GET /admin/broken failed");
      assertThat(ThrowableProxyUtil.asString(line.getThrowableProxy()))
          .contains("IllegalStateException")
          .doesNotContain("what a client said");
    });
  }

  @Test
  void otherMethods_areTellingWhichThereAre() throws IOException {
    Response answer = api(new AdminKeys(List.of(), null)).handle(request("PUT", "/admin/things"));

    assertThat(answer.status()).isEqualTo(405);
    assertThat(answer.headers().first("Allow")).isEqualTo("GET, POST");
    assertThat(json(answer).at("/error/message").textValue()).contains("PUT", "GET, POST");
  }

  @ParameterizedTest
  @CsvSource({
    "application/json, 201",
    "application/json; charset=utf-8, 201",
    "Application/Problem+JSON, 201",
    "text/plain, 415",
    "application/x-www-form-urlencoded, 415"
  })
  void bodies_areJson(String type, int status) throws IOException {
    AdminApi api = api(new AdminKeys(List.of(), null));
    Headers headers = Headers.of("Content-Type", type);
    Response answer = api.handle(new DirectExchange(
        "POST", "/admin/things", headers, InetAddress.getLoopbackAddress(), "{}".getBytes(StandardCharsets.UTF_8)));

    assertThat(answer.status()).isEqualTo(status);
    assertThat(status == 201 || json(answer).at("/error/message").textValue().contains("application/json")).isTrue();
  }

  @Test
  void withKeys_anyOfThemOpens_andNothingElse() throws IOException {
    AdminApi api = api(new AdminKeys(List.of(AdminKey.parse(OLD), AdminKey.parse(NEW)), null));

    assertThat(asked(api, "Bearer " + OLD, "192.0.2.1").status()).isEqualTo(200);
    assertThat(asked(api, "bearer  " + NEW, "192.0.2.1").status()).isEqualTo(200);
    for (String wrong : List.of("Bearer " + OLD + "x", "Bearer an-old-key", "Bearer ", "Basic " + OLD, OLD)) {
      Response refused = asked(api, wrong, "127.0.0.1");
      assertThat(refused.status()).as(wrong).isEqualTo(401);
      assertThat(refused.headers().first("WWW-Authenticate")).startsWith("Bearer ");
      assertThat(json(refused).at("/error/code").textValue()).isEqualTo("unauthorized");
      assertThat(new String(((Response.Buffered) refused).body(), StandardCharsets.UTF_8)).doesNotContain(OLD, NEW);
    }
    assertThat(asked(api, null, "127.0.0.1").status()).isEqualTo(401);
    assertThat(api.handle(request("GET", "/admin/nothing")).status()).as("nothing is told of paths").isEqualTo(401);
  }

  @ParameterizedTest
  @ValueSource(strings = {"127.0.0.1", "127.1.2.3", "::1"})
  void withoutKeys_thisMachineMay(String client) throws IOException {
    assertThat(asked(api(new AdminKeys(List.of(), null)), null, client).status()).isEqualTo(200);
  }

  @Test
  void withoutKeys_othersMayNot() throws IOException {
    Response refused = asked(api(new AdminKeys(List.of(), null)), null, "192.0.2.1");

    assertThat(refused.status()).isEqualTo(403);
    assertThat(json(refused).at("/error/message").textValue()).contains("kvasir.management.admin-keys", "192.0.2.1");
  }

  @Test
  void withoutKeys_pagesInBrowsersMayNot() {
    Response refused = api(new AdminKeys(List.of(), null)).handle(new DirectExchange(
        "POST",
        "/admin/things",
        Headers.of("Origin", "https://elsewhere.example"),
        InetAddress.getLoopbackAddress(),
        "{}".getBytes(StandardCharsets.UTF_8)));

    assertThat(refused.status()).isEqualTo(403);
  }

  @ParameterizedTest
  @CsvSource({
    "localhost:7626, http://localhost:7626, 201", "127.0.0.1:7626, HTTP://127.0.0.1:7626, 201",
    "[::1]:7626, https://[::1]:7626, 201", "localhost:7626, http://localhost:8080, 403",
    "localhost:7626, http://127.0.0.1:7626, 403", "localhost:7626, null, 403",
    "evil.example:7626, http://evil.example:7626, 403"
  })
  void withoutKeys_theRoutersOwnPageMay(String host, String origin, int status) {
    DirectExchange byPage =
        new DirectExchange(
            "POST", "/admin/things", Headers.of("Host", host, "Origin", origin), InetAddress.getLoopbackAddress(),
            "{}".getBytes(StandardCharsets.UTF_8));

    assertThat(api(new AdminKeys(List.of(), null)).handle(byPage).status()).isEqualTo(status);
  }

  /** A page under a name that leads to this machine is of the same origin to a browser: it reads what it gets. */
  @ParameterizedTest
  @CsvSource({
    "evil.example, 403", "evil.example:7626, 403", "localhost.evil.example, 403", "127.0.0.1.evil.example, 403",
    "localhost:7626, 200", "LOCALHOST, 200", "127.0.0.1:7626, 200", "[::1]:7626, 200"
  })
  void withoutKeys_namesOfOthersMayNot(String host, int status) {
    DirectExchange byName =
        new DirectExchange(
            "GET", "/admin/things/a", Headers.of("Host", host), InetAddress.getLoopbackAddress(), new byte[0]);

    assertThat(api(new AdminKeys(List.of(), null)).handle(byName).status()).isEqualTo(status);
  }

  @Test
  void viewers_changeNothing() throws IOException {
    String digest = HexFormat.of().formatHex(AdminKey.sha256(NEW));
    AdminApi api =
        api(new AdminKeys(
            List.of(AdminKey.parse(OLD + " eve viewer"), AdminKey.parse("sha256:" + digest + " ada")), null));

    assertThat(api.handle(change("/admin/things", OLD)).status()).isEqualTo(403);
    assertThat(asked(api, "Bearer " + OLD, "192.0.2.1").status()).isEqualTo(200);
    assertThat(api.handle(change("/admin/things", NEW)).status()).isEqualTo(201);
    assertThat(api.handle(change("/admin/questions", OLD)).status()).as("a question with a body").isEqualTo(200);
    assertThat(api.handle(change("/admin/nothing", OLD)).status()).isEqualTo(403);
  }

  @Test
  void stream_isToldWhenItsKeyOpensNoMore(@TempDir Path directory) throws IOException {
    Path file = Files.writeString(directory.resolve("keys"), OLD + " eve viewer\n");
    Response.Streaming stream =
        (Response.Streaming) api(new AdminKeys(List.of(), file)).handle(
            new DirectExchange(
                "GET", "/admin/stream", Headers.of("Authorization", "Bearer " + OLD),
                InetAddress.getLoopbackAddress(), new byte[0]));
    List<String> written = new ArrayList<>();
    stream.body().run((bytes, from, to) -> {
      written.add(new String(bytes, from, to, StandardCharsets.UTF_8));
      Files.writeString(file, NEW);
    });

    assertThat(stream.headers().first("Content-Type")).isEqualTo("text/event-stream");
    assertThat(written).containsExactly("true", "false");
  }

  @ParameterizedTest
  @ValueSource(strings = {
    "short", "", "a-good-key-0123456789 two words admin", "a-good-key-0123456789 eve emperor", "sha256:12",
    "sha256:zz00000000000000000000000000000000000000000000000000000000000000", "a-good-key-0123456789 e/ve"
  })
  void keysThatAreNone_areRefusedWithoutBeingShown(String line) {
    assertThatThrownBy(() -> AdminKey.parse(line)).hasMessage(AdminKey.FORM);
  }

  @Test
  void changesAndRefusals_areAudited(@TempDir Path directory) throws IOException {
    Path file = directory.resolve("audit.jsonl");
    audit = audit(file, NanoClock.SYSTEM);
    AdminApi api =
        api(new AdminKeys(List.of(AdminKey.parse(OLD + " eve viewer"), AdminKey.parse(NEW + " ada")), null));

    assertThat(api.handle(change("/admin/things", NEW)).status()).isEqualTo(201);
    api.handle(change("/admin/things", OLD));
    api.handle(change("/admin/things", "a-wrong-key-0123456789\u0007"));
    assertThat(asked(api, "Bearer " + NEW, "192.0.2.1").status()).isEqualTo(200);

    List<JsonNode> lines = new ArrayList<>();
    for (String line : Files.readAllLines(file)) {
      assertThat(line).doesNotContain(OLD, NEW, "wrong-key", "the-secret-of-x");
      lines.add(JSON.readTree(line));
    }
    assertThat(lines).hasSize(3).allSatisfy(line -> {
      assertThat(line.path("method").asText()).isEqualTo("POST");
      assertThat(line.path("path").asText()).isEqualTo("/admin/things");
      assertThat(line.path("request_id").asText()).isEqualTo("id-7");
      assertThat(line.path("client").asText()).isEqualTo("127.0.0.1");
    });
    assertThat(lines).extracting(line -> line.path("principal").asText()).containsExactly("ada", "eve", "unknown");
    assertThat(lines).extracting(line -> line.path("outcome").asText()).containsExactly("success", "denied", "denied");
    assertThat(lines.getFirst().at("/after/thing").asText()).isEqualTo("x");
    assertThat(lines.getFirst().has("before")).isFalse();
  }

  @Test
  void audit_hasWhatWasMade_notAllThereIs(@TempDir Path directory) throws IOException {
    Path file = directory.resolve("audit.jsonl");
    audit = audit(file, NanoClock.SYSTEM);

    api(new AdminKeys(List.of(AdminKey.parse(NEW)), null)).handle(change("/admin/keys", NEW));

    assertThat(JSON.readTree(Files.readString(file)).path("after").toString()).isEqualTo("{\"id\":\"k-1\"}");
  }

  @Test
  void refusalsOfTheUnknown_areAuditedTenASecond(@TempDir Path directory) throws IOException {
    Path file = directory.resolve("audit.jsonl");
    AtomicLong now = new AtomicLong();
    audit = audit(file, now::get);
    AdminApi api = api(new AdminKeys(List.of(AdminKey.parse(NEW + " ada")), null));

    for (int i = 0; i < 25; i++) {
      api.handle(change("/admin/things", "a-wrong-key-0123456789"));
    }
    api.handle(change("/admin/things", NEW));
    now.addAndGet(TimeUnit.SECONDS.toNanos(1));
    api.handle(change("/admin/things", "a-wrong-key-0123456789"));

    List<String> lines = Files.readAllLines(file);
    assertThat(lines).hasSize(12);
    assertThat(JSON.readTree(lines.get(10)).path("principal").asText()).isEqualTo("ada");
    assertThat(lines.subList(0, 11)).noneMatch(line -> line.contains("left_out"));
    assertThat(JSON.readTree(lines.getLast()).path("left_out").asInt()).isEqualTo(15);
  }

  @Test
  void wrongKeysAndUnreadableFiles_fillNoLog(@TempDir Path directory) {
    AtomicLong now = new AtomicLong();
    AdminKeys wrong = new AdminKeys(List.of(AdminKey.parse(NEW)), null, now::get);
    AdminKeys unreadable = new AdminKeys(List.of(), directory.resolve("none"), now::get);
    Logger logger = (Logger) LoggerFactory.getLogger(AdminKeys.class);
    ListAppender<ILoggingEvent> log = new ListAppender<>();
    log.start();
    logger.addAppender(log);
    try {
      for (int i = 0; i < 25; i++) {
        isRefused(wrong, 401);
        isRefused(unreadable, 503);
      }
      assertThat(log.list).hasSize(11);
      now.addAndGet(TimeUnit.SECONDS.toNanos(1));
      isRefused(wrong, 401);
      isRefused(unreadable, 503);
    } finally {
      logger.detachAppender(log);
    }
    assertThat(log.list.subList(11, 13)).extracting(ILoggingEvent::getFormattedMessage).satisfiesExactly(
        line -> assertThat(line).endsWith("its key is wrong (and 15 before it that are not here)"),
        line -> assertThat(line).contains("cannot be read").endsWith(" (and 24 before it that are not here)"));
  }

  private static void isRefused(AdminKeys keys, int status) {
    Headers headers = Headers.of("Authorization", "Bearer " + OLD);
    assertThatThrownBy(() -> keys.check(headers, InetAddress.getLoopbackAddress()))
        .isInstanceOfSatisfying(AdminException.class, refused -> assertThat(refused.status()).isEqualTo(status));
  }

  private static AuditLog audit(Path file, NanoClock clock) {
    return new AuditLog(new LogFileSettings(file, 1 << 20, 1), new Metrics(new PrometheusRegistry()), clock);
  }

  private static DirectExchange change(String path, String key) {
    return new DirectExchange(
        "POST", path, Headers.of("Authorization", "Bearer " + key, "X-Request-Id", "id-7"),
        InetAddress.getLoopbackAddress(),
        "{\"id\":\"x\",\"secret\":\"the-secret-of-x\"}".getBytes(StandardCharsets.UTF_8));
  }

  @Test
  void keysInAFile_changeWithIt(@TempDir Path directory) throws IOException {
    Path file = Files.writeString(directory.resolve("keys"), "# rotated monthly\n\n" + OLD + "\n");
    AdminApi api = api(new AdminKeys(List.of(), file));
    assertThat(asked(api, "Bearer " + OLD, "192.0.2.1").status()).isEqualTo(200);
    assertThat(asked(api, "Bearer " + NEW, "192.0.2.1").status()).isEqualTo(401);

    Files.writeString(file, "  " + NEW + "  ");
    assertThat(asked(api, "Bearer " + OLD, "192.0.2.1").status()).isEqualTo(401);
    assertThat(asked(api, "Bearer " + NEW, "192.0.2.1").status()).isEqualTo(200);

    Files.delete(file);
    assertThat(asked(api, "Bearer " + NEW, "127.0.0.1").status()).isEqualTo(503);
  }

  @Test
  void requests_areCounted() throws IOException {
    AdminApi api = api(new AdminKeys(List.of(), null));
    api.handle(request("GET", "/admin/things/a"));
    api.handle(request("GET", "/admin/things/b"));
    api.handle(request("GET", "/admin/nothing"));

    assertThat(counted("/admin/things/{thing}", "200")).isEqualTo(2);
    assertThat(counted("none", "404")).isEqualTo(1);
  }

  private AdminApi api(AdminKeys keys) {
    AdminResource things = () -> List.of(
        AdminRoute.get("/admin/things", _ -> AdminResponse.ok(AdminResponse.object())),
        AdminRoute.post(
            "/admin/things", request -> new AdminResponse(201, request.body("send {}"))),
        AdminRoute.get(
                "/admin/things/{thing}",
                request -> AdminResponse.ok(
                    AdminResponse.object()
                        .put("thing", request.variable("thing"))
                        .put("colour", request.parameter("colour"))))
            .with("colour"),
        AdminRoute.post(
            "/admin/keys",
            _ -> new AdminResponse(
                201, AdminResponse.object().set("key", AdminResponse.object().put("id", "k-1")))),
        AdminRoute.get(
            "/admin/keys/{key}",
            request -> AdminResponse.ok(AdminResponse.object().put("id", request.variable("key")))),
        AdminRoute.get("/admin/keys", _ -> AdminResponse.ok(AdminResponse.object().put("all", 1))),
        AdminRoute.query("/admin/questions", request -> AdminResponse.ok(request.body("send {}"))),
        AdminRoute.get(
            "/admin/stream",
            _ -> new AdminStream(Headers.of("Content-Type", "text/event-stream"), (sink, allowed) -> {
              for (int i = 0; i < 2; i++) {
                byte[] text = Boolean.toString(allowed.getAsBoolean()).getBytes(StandardCharsets.UTF_8);
                sink.write(text, 0, text.length);
              }
            })),
        AdminRoute.get("/admin/broken", _ -> {
          throw new IllegalStateException("broken by what a client said");
        }));
    return new AdminApi(keys, List.of(things), audit, new Metrics(registry));
  }

  private double counted(String route, String status) {
    return TestMetrics.sum(registry, "kvasir_admin_requests", route, status);
  }

  private static Response asked(AdminApi api, @Nullable String authorization, String client) throws IOException {
    Headers headers = authorization == null ? Headers.EMPTY : Headers.of("Authorization", authorization);
    return api.handle(new DirectExchange("GET", "/admin/things", headers, InetAddress.getByName(client), new byte[0]));
  }

  private static DirectExchange request(String method, String target) {
    return new DirectExchange(method, target, "{}".getBytes(StandardCharsets.UTF_8));
  }

  private static JsonNode json(Response answer) throws IOException {
    return JSON.readTree(((Response.Buffered) answer).body());
  }
}
