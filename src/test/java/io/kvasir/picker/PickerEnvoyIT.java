package io.kvasir.picker;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.kvasir.Await;
import io.kvasir.cell.Decision.NoWorkerReason;
import io.kvasir.cell.Outcome;
import io.kvasir.picker.TestEnvoy.Destination;
import io.kvasir.picker.TestEnvoy.Listener;
import io.kvasir.pools.LivePools;
import io.kvasir.pools.ModelRewrite;
import io.kvasir.pools.PoolSet;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The picker behind a real Envoy, with engines that echo: as each gateway uses it. */
final class PickerEnvoyIT {
  private static final String DUPLEX = "FULL_DUPLEX_STREAMED";
  private static final String CHAT = "/v1/chat/completions";
  private static final String BODY = "{\"model\":\"m\",\"messages\":[]}";
  private static final String EVENTS = "{\"model\":\"m\",\"messages\":[],\"stream\":true,\"n\":5}";
  private static final String HELD = "{\"model\":\"m\",\"messages\":[],\"stream\":true,\"n\":2,\"hold\":true}";
  private static final int DEAD = 1;
  private static final PickerSettings SETTINGS =
      new PickerSettings(
          TestPicker.SETTINGS.listener(), PickerSettings.Limits.of(16 << 20, 256 << 20), true, 0, false,
          Duration.ofMillis(300), false, PoolSet.NONE);
  private static final JsonMapper JSON = new JsonMapper();
  private static final HttpClient CLIENT =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  private static EchoEngine a;
  private static EchoEngine b;
  private static TestPicker picker;
  private static TestPicker early;
  private static TestPicker fallbacks;
  private static TestPicker secure;
  private static TestPicker first;
  private static TestPicker second;
  private static TestEnvoy envoy;
  private static @Nullable ServerSocket silent;

  @BeforeAll
  static void start(@TempDir Path directory) throws Exception {
    a = new EchoEngine();
    b = new EchoEngine();
    picker = new TestPicker(SETTINGS);
    early = new TestPicker(with(0, true, false));
    fallbacks = new TestPicker(with(1, false, false));
    secure = new TestPicker(with(0, false, true));
    first = new TestPicker(SETTINGS);
    second = new TestPicker(SETTINGS);
    Map<String, Listener> listeners = new LinkedHashMap<>();
    listeners.put("header", new Listener(ports(picker), false, DUPLEX, Destination.HEADER));
    listeners.put("metadata", new Listener(ports(picker), false, DUPLEX, Destination.METADATA));
    listeners.put("buffered", new Listener(ports(picker), false, "BUFFERED", Destination.HEADER));
    listeners.put("streamed", new Listener(ports(picker), false, "STREAMED", Destination.METADATA));
    listeners.put("none", new Listener(ports(picker), false, "NONE", Destination.HEADER));
    listeners.put("early", new Listener(ports(early), false, DUPLEX, Destination.HEADER));
    listeners.put("fallbacks", new Listener(ports(fallbacks), false, DUPLEX, Destination.METADATA));
    listeners.put("secure", new Listener(ports(secure), true, DUPLEX, Destination.HEADER));
    listeners.put("pair", new Listener(ports(first, second), false, DUPLEX, Destination.HEADER));
    envoy = new TestEnvoy(directory, listeners, List.of(a.port(), b.port(), DEAD));
  }

  private static PickerSettings with(int fallbacks, boolean earlyClose, boolean tls) {
    return new PickerSettings(
        new PickerSettings.Listener("127.0.0.1", 0, 0, tls, null), SETTINGS.limits(), true, fallbacks, earlyClose,
        SETTINGS.unseenBooking(), false, PoolSet.NONE);
  }

  private static List<Integer> ports(TestPicker... pickers) {
    return Stream.of(pickers).map(each -> each.picker.ports().getFirst()).toList();
  }

  @AfterAll
  static void stop() {
    Stream.of(envoy, picker, early, fallbacks, secure, first, second, a, b, silent).forEach(each -> {
      try {
        if (each != null) {
          each.close();
        }
      } catch (Exception e) {
        throw new IllegalStateException(e);
      }
    });
  }

  @BeforeEach
  void workers() {
    pickers().forEach(each -> {
      each.cells.worker("a", a.url(), "m");
      each.cells.worker("b", b.url(), "m", "only-b");
    });
  }

  private static Stream<TestPicker> pickers() {
    return Stream.of(picker, early, fallbacks, secure, first, second);
  }

  @AfterEach
  void everythingIsGivenBack() {
    pickers().forEach(each -> {
      Await.await(() -> each.cells.open.get() == 0);
      Await.await(() -> each.metric("kvasir_picker_memory_used_bytes") == 0);
      assertThat(each.cells.closedTwice.get()).isZero();
      each.cells.workers.clear();
      each.cells.outcomes.clear();
      each.cells.requests.clear();
      each.cells.alternatives = List.of();
      each.cells.refuse = false;
      each.cells.otherwise = NoWorkerReason.NONE_HEALTHY;
      each.pools.replace(LivePools.Source.KUBERNETES, PoolSet.NONE);
    });
  }

  @ParameterizedTest
  @ValueSource(strings = {"header", "metadata", "buffered", "secure", "early", "fallbacks"})
  void destination_isThePickers(String listener) throws Exception {
    for (EchoEngine engine : List.of(a, b, a)) {
      String model = engine == a ? "m" : "only-b";
      HttpResponse<String> answer = post(listener, BODY.replace("\"m\"", "\"" + model + "\""));

      assertThat(answer.statusCode()).isEqualTo(200);
      assertThat(servedBy(answer)).isEqualTo(engine.port());
      assertThat(JSON.readTree(answer.body()).path("path").asText()).isEqualTo(CHAT);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"streamed", "none"})
  void destination_byTheHeadAlone(String listener) throws Exception {
    HttpResponse<String> answer = post(listener, BODY);

    assertThat(answer.statusCode()).isEqualTo(200);
    assertThat(servedBy(answer)).isEqualTo(a.port());
    assertThat(JSON.readTree(answer.body()).path("length").asInt()).isEqualTo(BODY.length());
  }

  @ParameterizedTest
  @ValueSource(strings = {"header", "metadata", "buffered", "streamed", "early"})
  void events_reachTheClient(String listener) throws Exception {
    HttpResponse<String> answer = post(listener, EVENTS);

    assertThat(answer.statusCode()).isEqualTo(200);
    assertThat(answer.body().split("\n\n", -1)).hasSize(7);
    assertThat(answer.body()).contains("\"content\":\"4\"").endsWith("data: [DONE]\n\n");
  }

  @Test
  void events_comeOneByOne() throws Exception {
    HttpResponse<InputStream> answer =
        CLIENT.send(request("header", HELD), BodyHandlers.ofInputStream());
    try (InputStream in = answer.body()) {
      assertThat(readTo(in, "\"content\":\"1\"")).contains("\"content\":\"0\"");
    }
    // Closed in the midst of it.
    assertThat(picker.cells.outcome()).isEqualTo(new Outcome.Cancelled());
  }

  @Test
  void clientThatLeaves_beforeTheAnswer() throws Exception {
    picker.cells.worker("c", URI.create("http://127.0.0.1:" + silentPort()), "silent");
    CompletableFuture<HttpResponse<String>> asked =
        CLIENT.sendAsync(request("header", BODY.replace("\"m\"", "\"silent\"")), BodyHandlers.ofString());
    Await.await(() -> picker.cells.open.get() == 1);
    asked.cancel(true);

    assertThat(picker.cells.outcome()).isEqualTo(new Outcome.Cancelled());
  }

  @Test
  void clientThatLeaves_amidItsBody() throws Exception {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), envoy.port("header"))) {
      socket.getOutputStream().write(
          ("POST " + CHAT + " HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{\"model\"").getBytes(
              StandardCharsets.US_ASCII));
      Await.await(() -> picker.metric("kvasir_picker_memory_used_bytes") > 0);
    }
    // What it held is given back, as after every test.
  }

  @ParameterizedTest
  @CsvSource({"header, PORT", "header, HOST", "metadata, PORT"})
  void subset_restrictsTheChoice(String listener, String form) throws Exception {
    String hint = form.equals("PORT") ? "127.0.0.1:" + b.port() : "127.0.0.1";
    HttpResponse<String> answer = post(listener, BODY, "x-test-subset", hint);

    assertThat(servedBy(answer)).isEqualTo(form.equals("PORT") ? b.port() : a.port());
  }

  @Test
  void subset_ofNobody_is503() throws Exception {
    HttpResponse<String> answer = post("header", BODY, "x-test-subset", "127.0.0.1:1");

    assertThat(answer.statusCode()).isEqualTo(503);
    assertThat(JSON.readTree(answer.body()).at("/error/code").asText()).isEqualTo("no_healthy_worker");
    assertThat(answer.headers().firstValue("retry-after")).isPresent();
  }

  @Test
  void fullWorkers_are429() throws Exception {
    picker.cells.refuse = true;
    picker.cells.otherwise = NoWorkerReason.ALL_FULL;
    HttpResponse<String> answer = post("metadata", BODY);

    assertThat(answer.statusCode()).isEqualTo(429);
    assertThat(answer.headers().firstValue("x-llm-d-request-dropped-reason")).contains("rejected-saturated");
    assertThat(answer.headers().firstValue("content-type")).contains("application/json");
    assertThat(answer.headers().firstValue("retry-after")).isPresent();
    assertThat(JSON.readTree(answer.body()).at("/error/code").asText()).isEqualTo("all_workers_full");
  }

  /** The gateway does not know the endpoint and takes another. */
  @Test
  void servedElsewhere_movesTheLoad() throws Exception {
    picker.cells.workers.clear();
    picker.cells.worker("unknown", URI.create("http://127.0.0.2:9"), "m");
    picker.cells.worker("a", a.url(), "m");
    picker.cells.worker("b", b.url(), "m");
    HttpResponse<String> answer = post("metadata", BODY);
    for (int i = 0; i < 3 && answer.statusCode() != 200; i++) {
      // Round robin came to the endpoint that is dead.
      answer = post("metadata", BODY);
    }
    HttpResponse<String> served = answer;

    assertThat(served.statusCode()).isEqualTo(200);
    assertThat(served.headers().firstValue("x-router-backend"))
        .contains(servedBy(served) == a.port() ? "a" : "b");
    assertThat(picker.metric("kvasir_picker_served_elsewhere", "moved")).isPositive();
  }

  @Test
  void firstOfTheListIsDead_theNextServes() throws Exception {
    fallbacks.cells.workers.clear();
    fallbacks.cells.worker("dead", URI.create("http://127.0.0.1:" + DEAD), "m");
    fallbacks.cells.alternatives = List.of(fallbacks.cells.worker("b", b.url(), "m"));
    HttpResponse<String> answer = post("fallbacks", BODY);

    assertThat(answer.statusCode()).isEqualTo(200);
    assertThat(servedBy(answer)).isEqualTo(b.port());
    assertThat(answer.headers().firstValue("x-router-backend")).contains("b");
  }

  @ParameterizedTest
  @ValueSource(strings = {"header", "metadata", "early"})
  void tenMegabytes_arriveWhole(String listener) throws Exception {
    String body = BODY.replace("[]", "[\"" + "x".repeat(10 << 20) + "\"]");
    HttpResponse<String> answer = post(listener, body);

    assertThat(answer.statusCode()).isEqualTo(200);
    JsonNode got = JSON.readTree(answer.body());
    assertThat(got.path("length").asInt()).isEqualTo(body.length());
    assertThat(got.path("hash").asInt()).isEqualTo(body.hashCode());
  }

  @Test
  void tooLongBody_is413() throws Exception {
    HttpResponse<String> answer = post("header", BODY.replace("[]", "[\"" + "x".repeat(17 << 20) + "\"]"));

    assertThat(answer.statusCode()).isEqualTo(413);
    assertThat(JSON.readTree(answer.body()).at("/error/code").asText()).isEqualTo("request_too_large");
  }

  @Test
  void bytesOneByOne_arriveWhole() throws Exception {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), envoy.port("header"))) {
      socket.setTcpNoDelay(true);
      socket.getOutputStream().write(
          ("POST " + CHAT + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n")
              .getBytes(StandardCharsets.US_ASCII));
      for (byte each : BODY.getBytes(StandardCharsets.US_ASCII)) {
        socket.getOutputStream().write(("1\r\n" + (char) each + "\r\n").getBytes(StandardCharsets.US_ASCII));
        socket.getOutputStream().flush();
      }
      socket.getOutputStream().write("0\r\n\r\n".getBytes(StandardCharsets.US_ASCII));

      assertThat(new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8))
          .startsWith("HTTP/1.1 200")
          .contains("\"length\":" + BODY.length());
    }
  }

  @ParameterizedTest
  @CsvSource({"GET, /anything", "GET, /health", "DELETE, /v1/files/1"})
  void requestsWithoutBodies_getAnEndpoint(String method, String path) throws Exception {
    HttpResponse<String> answer =
        CLIENT.send(
            HttpRequest.newBuilder(uri("header", path)).method(method, BodyPublishers.noBody()).build(),
            BodyHandlers.ofString());

    assertThat(answer.statusCode()).isEqualTo(200);
    assertThat(JSON.readTree(answer.body()).path("method").asText()).isEqualTo(method);
  }

  @Test
  void models_areListed() throws Exception {
    HttpResponse<String> answer =
        CLIENT.send(HttpRequest.newBuilder(uri("header", "/v1/models")).build(), BodyHandlers.ofString());

    assertThat(answer.body()).contains("\"only-b\"", "\"m\"");
  }

  @ParameterizedTest
  @ValueSource(strings = {"header", "metadata"})
  void forgedHeaders_doNotReachAnyone(String listener) throws Exception {
    HttpResponse<String> answer =
        post(
            listener, BODY, "x-gateway-destination-endpoint", "127.0.0.1:" + b.port(), "x-prefiller-host-port",
            "127.0.0.1:" + DEAD, "X-Data-Parallel-Rank", "7");

    assertThat(servedBy(answer)).isEqualTo(a.port());
    JsonNode headers = JSON.readTree(answer.body()).path("headers");
    assertThat(headers.path("x-gateway-destination-endpoint").asText()).isEqualTo("127.0.0.1:" + a.port());
    assertThat(headers.has("x-prefiller-host-port")).isFalse();
    assertThat(headers.has("x-data-parallel-rank")).isFalse();
  }

  @ParameterizedTest
  @ValueSource(strings = {"header", "buffered"})
  void rewrite_isSeenByTheEngineOnly(String listener) throws Exception {
    picker.pools.replace(
        LivePools.Source.KUBERNETES,
        new PoolSet(
            List.of(PoolChoice.ALL),
            List.of(
                new ModelRewrite(
                    "longer",
                    PoolChoice.ALL.id(),
                    List.of(
                        new ModelRewrite.Rule(
                            Set.of("a-much-longer-name"), List.of(new ModelRewrite.Target("only-b", 1)))))),
            List.of()));
    String asked = EVENTS.replace("\"m\"", "\"a-much-longer-name\"");
    HttpResponse<String> events = post(listener, asked);
    HttpResponse<String> whole = post(listener, BODY.replace("\"m\"", "\"a-much-longer-name\""));

    assertThat(servedBy(events)).isEqualTo(b.port());
    assertThat(events.body()).doesNotContain("only-b").contains("\"model\":\"a-much-longer-name\"");
    assertThat(events.body().split("\n\n", -1)).hasSize(7);
    assertThat(JSON.readTree(whole.body()).path("model").asText()).isEqualTo("a-much-longer-name");
    assertThat(JSON.readTree(whole.body()).path("length").asInt())
        .isEqualTo(BODY.replace("\"m\"", "\"only-b\"").length());
  }

  /** A stream that ended apart from its last message would lose the first bytes of quick answers. */
  @Test
  void earlyClose_losesNothing() throws Exception {
    for (int i = 0; i < 200; i++) {
      HttpResponse<String> answer = post("early", BODY);
      assertThat(answer.body()).as(i + " " + answer + answer.headers()).contains("\"length\":" + BODY.length());
    }
  }

  @Test
  void manyEventsOfManyStreams_allArrive() throws Exception {
    String body = EVENTS.replace("\"n\":5", "\"n\":2000");
    List<CompletableFuture<HttpResponse<String>>> asked = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      asked.add(CLIENT.sendAsync(request("header", body), BodyHandlers.ofString()));
    }
    for (CompletableFuture<HttpResponse<String>> answer : asked) {
      assertThat(answer.get().body().split("\n\n", -1)).hasSize(2002);
    }
  }

  /** Only requests whose stream was on the picker that ends may fail. */
  @Test
  void oneOfTwoPickers_endsUnderLoad() throws Exception {
    AtomicInteger failed = new AtomicInteger();
    AtomicInteger served = new AtomicInteger();
    List<Thread> clients = new ArrayList<>();
    AtomicInteger left = new AtomicInteger(400);
    for (int i = 0; i < 8; i++) {
      clients.add(
          Thread.ofVirtual().start(() -> {
            while (left.getAndDecrement() > 0) {
              try {
                (post("pair", BODY).statusCode() == 200 ? served : failed).incrementAndGet();
              } catch (IOException | InterruptedException e) {
                failed.incrementAndGet();
              }
            }
          }));
    }
    Await.await(() -> served.get() > 100);
    double running = second.metric("kvasir_picker_streams_running");
    second.picker.close();
    for (Thread client : clients) {
      client.join();
    }

    assertThat(served.get() + failed.get()).isEqualTo(400);
    // Streams that had been given to it when it ended, at most one of each client.
    assertThat(failed.get()).isLessThanOrEqualTo(8);
    assertThat(running).isLessThanOrEqualTo(8);
    assertThat(post("pair", BODY).statusCode()).isEqualTo(200);
  }

  private static HttpResponse<String> post(String listener, String body, String... headers)
      throws IOException, InterruptedException {
    return CLIENT.send(request(listener, body, headers), BodyHandlers.ofString());
  }

  private static HttpRequest request(String listener, String body, String... headers) {
    BodyPublisher bytes = BodyPublishers.ofString(body);
    HttpRequest.Builder request =
        HttpRequest.newBuilder(uri(listener, CHAT))
            .header("content-type", "application/json")
            .timeout(Duration.ofSeconds(60))
            .POST(bytes);
    if (headers.length > 0) {
      request.headers(headers);
    }
    return request.build();
  }

  private static URI uri(String listener, String path) {
    return URI.create("http://127.0.0.1:" + envoy.port(listener) + path);
  }

  private static int servedBy(HttpResponse<String> answer) {
    return Integer.parseInt(answer.headers().firstValue("x-served-by").orElse("0"));
  }

  /** A port that takes connections, and says nothing on them. */
  private static int silentPort() throws IOException {
    ServerSocket opened = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    silent = opened;
    return opened.getLocalPort();
  }

  private static String readTo(InputStream in, String end) throws IOException {
    StringBuilder read = new StringBuilder();
    while (read.indexOf(end) < 0) {
      int c = in.read();
      if (c < 0) {
        throw new AssertionError("ended before " + end + ": " + read);
      }
      read.append((char) c);
    }
    return read.toString();
  }
}
