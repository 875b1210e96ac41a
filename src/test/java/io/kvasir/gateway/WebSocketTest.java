package io.kvasir.gateway;

import static io.kvasir.gateway.WebSocketEngine.BINARY;
import static io.kvasir.gateway.WebSocketEngine.CLOSE;
import static io.kvasir.gateway.WebSocketEngine.TEXT;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvasir.Await;
import io.kvasir.cell.Outcome;
import io.kvasir.gateway.WebSocketEngine.Connection;
import io.kvasir.gateway.WebSocketEngine.Frame;
import io.kvasir.gateway.request.WebSocketSettings;
import io.kvasir.http.TestTls;
import io.kvasir.http.client.PodClient;
import io.kvasir.http.client.ScriptedPod;
import io.kvasir.http.server.HttpSettings;
import io.kvasir.http.server.ListenerTls;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpResponse;
import java.net.http.WebSocket;
import java.net.http.WebSocketHandshakeException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** WebSockets between clients and engines, over real sockets. */
final class WebSocketTest {
  private static final String REALTIME = "/v1/realtime?model=m";
  private static final String KEY = "dGhlIHNhbXBsZSBub25jZQ==";

  private final List<AutoCloseable> open = new ArrayList<>();
  private TestRouter router;

  @AfterEach
  void stop() throws Exception {
    for (AutoCloseable each : open.reversed()) {
      each.close();
    }
  }

  private WebSocketEngine start(WebSocketEngine engine) throws IOException {
    return start(engine, new TestRouter());
  }

  private WebSocketEngine start(WebSocketEngine engine, TestRouter over) {
    open.add(engine);
    router = over;
    open.add(over);
    over.cells.worker("w0", engine.url(), "m");
    return engine;
  }

  @Test
  void framesPassBothWays() throws Exception {
    WebSocketEngine engine = start(WebSocketEngine.echo());
    Client client = connect(REALTIME);
    client.socket.sendText("hal", false).join();
    client.socket.sendText("lo", true).join();
    client.socket.sendPing(ByteBuffer.wrap("p".getBytes(StandardCharsets.UTF_8))).join();
    assertThat(client.next()).isEqualTo("text hal");
    assertThat(client.next()).isEqualTo("text+lo");
    assertThat(client.next()).isEqualTo("pong p");
    Connection at = engine.next();
    assertThat(at.received.take()).satisfies(frame -> {
      assertThat(frame.last()).isFalse();
      assertThat(frame.text()).isEqualTo("hal");
    });
    assertThat(router.metric("kvasir_websockets")).isEqualTo(1);
    assertThat(router.cells.open).hasValue(1);
    client.socket.sendClose(WebSocket.NORMAL_CLOSURE, "done").join();
    assertThat(client.next()).isEqualTo("closed 1000");
    assertThat(router.cells.outcome()).isInstanceOf(Outcome.Completed.class);
    Await.await(() -> router.metric("kvasir_requests_total", "realtime", "m", "random", "1xx", "false") == 1);
    assertThat(router.cells.open).hasValue(0);
    assertThat(router.metric("kvasir_websockets_closed_total", "client")).isEqualTo(1);
    assertThat(router.metric("kvasir_websockets")).isZero();
    assertThat(router.metric("kvasir_websocket_bytes_total", "up")).isGreaterThan(20);
    assertThat(router.metric("kvasir_websocket_bytes_total", "down")).isGreaterThan(10);
  }

  @Test
  void tenMegabytes_passBothWays() throws Exception {
    start(WebSocketEngine.echo());
    Client client = connect(REALTIME);
    byte[] sent = new byte[10 << 20];
    new Random(7).nextBytes(sent);
    client.socket.sendBinary(ByteBuffer.wrap(sent), true).join();
    ByteArrayOutputStream back = new ByteArrayOutputStream();
    while (back.size() < sent.length) {
      back.writeBytes(client.binary.poll(60, TimeUnit.SECONDS));
    }
    assertThat(Arrays.equals(back.toByteArray(), sent)).isTrue();
  }

  @ParameterizedTest
  @CsvSource({"true, true", "true, false", "false, true"})
  void encryptedConnections_passFrames(boolean front, boolean back) throws Exception {
    SSLContext tls = TestTls.forHost("localhost").context();
    HttpSettings listener = HttpSettings.at("127.0.0.1", 0);
    router = new TestRouter(
        PodClient.Settings.defaults().withTls(tls),
        front ? listener.withTls(new ListenerTls(tls, false)) : listener);
    open.add(router);
    WebSocketEngine engine = back
        ? new WebSocketEngine(tls.getServerSocketFactory().createServerSocket(0), WebSocketEngine::echo)
        : WebSocketEngine.echo();
    open.add(engine);
    router.cells.worker(
        "w0", URI.create((back ? "https" : "http") + "://localhost:" + engine.port()), "m");
    try (HttpClient http = HttpClient.newBuilder().sslContext(tls).build()) {
      Client client = new Client();
      client.socket = http.newWebSocketBuilder()
          .buildAsync(
              URI.create((front ? "wss" : "ws") + "://localhost:" + router.url("").getPort() + REALTIME), client)
          .join();
      byte[] sent = new byte[1 << 20];
      new Random(5).nextBytes(sent);
      client.socket.sendBinary(ByteBuffer.wrap(sent), true).join();
      ByteArrayOutputStream echo = new ByteArrayOutputStream();
      while (echo.size() < sent.length) {
        echo.writeBytes(client.binary.poll(60, TimeUnit.SECONDS));
      }
      assertThat(Arrays.equals(echo.toByteArray(), sent)).isTrue();
      router.drain(Duration.ofSeconds(30));
      assertThat(client.next()).isEqualTo("closed 1001");
    }
  }

  @Test
  void headDecides_andIsForwarded() throws Exception {
    WebSocketEngine engine = start(WebSocketEngine.echo());
    WebSocketEngine other = new WebSocketEngine(Connection::accept);
    open.add(other);
    router.cells.worker("w1", other.url(), "speech/large");
    try (Socket client = router.connect()) {
      String answer = handshake(client, "/v1/realtime?intent=transcription&model=speech%2Flarge",
          "Sec-WebSocket-Protocol: realtime\r\nX-Session-Id: s1\r\n");
      assertThat(answer).startsWith("HTTP/1.1 101 Switching Protocols\r\n")
          .contains("\r\nConnection: Upgrade\r\n").containsIgnoringCase("\r\nUpgrade: websocket\r\n")
          .contains("\r\nSec-WebSocket-Accept: " + WebSocketEngine.acceptOf(KEY) + "\r\n")
          .contains("\r\nX-Router-Backend: w1\r\n").containsIgnoringCase("\r\nX-Request-Id: ")
          .doesNotContain("Content-Length").doesNotContain("Transfer-Encoding");
      Connection at = other.next();
      assertThat(at.head).startsWith(
          "GET /v1/realtime?intent=transcription&model=speech%2Flarge HTTP/1.1\r\n");
      assertThat(at.header("Upgrade")).isEqualTo("websocket");
      assertThat(at.header("Connection")).isEqualTo("Upgrade");
      assertThat(at.header("Sec-WebSocket-Key")).isEqualTo(KEY);
      assertThat(at.header("Sec-WebSocket-Version")).isEqualTo("13");
      assertThat(at.header("Sec-WebSocket-Protocol")).isEqualTo("realtime");
      assertThat(at.header("X-Session-Id")).isEqualTo("s1");
      assertThat(at.header("X-Request-Id")).isNotEmpty();
      // The HTTP layer's own mark of such a request.
      assertThat(at.head).doesNotContainIgnoringCase("UpgradeToWebSocket");
    }
    assertThat(engine.url()).isNotEqualTo(other.url());
  }

  @Test
  void modelOfTheSettings_whereTheRequestNamesNone() throws Exception {
    WebSocketEngine engine = WebSocketEngine.echo();
    start(engine, new TestRouter(TestRouter.EXECUTION,
        GatewaySettings.defaults().with(new WebSocketSettings("speech", Set.of()))));
    router.cells.worker("w1", engine.url(), "speech");
    try (Socket client = router.connect()) {
      assertThat(handshake(client, "/v1/realtime", "")).contains("\r\nX-Router-Backend: w1\r\n");
    }
  }

  @Test
  void refusalOfTheEngine_passes() throws Exception {
    ScriptedPod pod = new ScriptedPod((request, out) -> out.json(403, "{\"error\":\"no speech today\"}"));
    open.add(pod);
    router = new TestRouter();
    open.add(router);
    router.cells.worker("w0", pod.url(), "m");
    assertThatThrownBy(() -> connect(REALTIME)).isInstanceOf(CompletionException.class)
        .cause().isInstanceOfSatisfying(WebSocketHandshakeException.class,
            refused -> assertThat(refused.getResponse().statusCode()).isEqualTo(403));
    assertThat(router.cells.outcome()).isInstanceOf(Outcome.Completed.class);
    assertThat(router.metric("kvasir_websockets")).isZero();
  }

  @Test
  void deadWorker_anotherIsTried() throws Exception {
    WebSocketEngine dead = new WebSocketEngine(connection -> {});
    dead.close();
    start(dead);
    WebSocketEngine engine = WebSocketEngine.echo();
    open.add(engine);
    router.cells.worker("w1", engine.url(), "m");
    Client client = connect(REALTIME);
    client.socket.sendText("hi", true).join();
    assertThat(client.next()).isEqualTo("text+hi");
  }

  @ParameterizedTest
  @CsvSource({
      "/v1/realtime?model=none, '', 404, model_not_found",
      "/v1/realtime?model=%zz, '', 400, bad_request",
      "/v1/elsewhere, '', 404, unknown_path",
      "/v1/chat/completions, '', 405, method_not_allowed",
      "/v1/realtime?model=m, 'Origin: https://evil.example', 403, permission_denied",
  })
  void refusedInHttp(String target, String header, int status, String code) throws Exception {
    start(WebSocketEngine.echo());
    try (Socket client = router.connect()) {
      String answer = handshake(client, target, header.isEmpty() ? "" : header + "\r\n");
      assertThat(answer).startsWith("HTTP/1.1 " + status + ' ');
      assertThat(TestRouter.readTo(client, "}}")).contains("\"code\":\"" + code + '"');
    }
    assertThat(router.cells.open).hasValue(0);
  }

  @Test
  void realtimeWithoutUpgrade_is426() throws Exception {
    start(WebSocketEngine.echo());
    for (HttpResponse<String> answer : List.of(router.get(REALTIME), router.post(REALTIME, "{}"))) {
      assertThat(answer.statusCode()).isEqualTo(426);
      assertThat(answer.headers().firstValue("Upgrade")).contains("websocket");
      assertThat(answer.body()).contains("upgrade_required");
    }
    try (Socket client = router.connect()) {
      client.getOutputStream().write(("GET " + REALTIME + " HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n"
          + "Upgrade: h2c\r\n\r\n").getBytes(StandardCharsets.US_ASCII));
      assertThat(TestRouter.readTo(client, "\r\n\r\n")).startsWith("HTTP/1.1 426 ");
    }
    try (Socket client = router.connect()) {
      client.getOutputStream().write(("GET " + REALTIME + " HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n"
          + "Upgrade: websocket\r\nSec-WebSocket-Version: 8\r\nSec-WebSocket-Key: " + KEY + "\r\n\r\n")
          .getBytes(StandardCharsets.US_ASCII));
      assertThat(TestRouter.readTo(client, "\r\n\r\n")).startsWith("HTTP/1.1 426 ");
    }
  }

  @Test
  void ownAndListedOrigins_mayOpenOne() throws Exception {
    start(WebSocketEngine.echo(), new TestRouter(TestRouter.EXECUTION,
        GatewaySettings.defaults().with(new WebSocketSettings(null, Set.of("https://talk.example")))));
    for (String origin : List.of("https://talk.example", "http://router")) {
      try (Socket client = router.connect()) {
        assertThat(handshake(client, REALTIME, "Origin: " + origin + "\r\n")).startsWith("HTTP/1.1 101 ");
      }
    }
  }

  @Test
  void framesBehindTheRequest_arrive() throws Exception {
    WebSocketEngine engine = start(WebSocketEngine.echo());
    try (Socket client = router.connect()) {
      ByteArrayOutputStream together = new ByteArrayOutputStream();
      together.writeBytes(request(REALTIME, ""));
      together.writeBytes(WebSocketEngine.masked(text("early")));
      client.getOutputStream().write(together.toByteArray());
      assertThat(TestRouter.readTo(client, "\r\n\r\n")).startsWith("HTTP/1.1 101 ");
      assertThat(WebSocketEngine.readFrame(new DataInputStream(client.getInputStream())).text()).isEqualTo("early");
    }
    assertThat(engine.next().received.take().text()).isEqualTo("early");
  }

  @Test
  void clientThatIsKilled_endsTheEngines() throws Exception {
    WebSocketEngine engine = start(WebSocketEngine.echo());
    Socket client = router.connect();
    handshake(client, REALTIME, "");
    Connection at = engine.next();
    client.setSoLinger(true, 0);
    client.close();
    Await.await(at::hasEnded);
    assertThat(router.cells.outcome()).isInstanceOf(Outcome.Cancelled.class);
    Await.await(() -> router.metric("kvasir_websockets_closed_total", "client_lost") == 1);
    Await.await(() -> router.metric("kvasir_requests_total", "realtime", "m", "random", "499", "false") == 1);
  }

  @Test
  void engineThatIsKilled_closesTheClients() throws Exception {
    WebSocketEngine engine = start(WebSocketEngine.echo());
    Client client = connect(REALTIME);
    client.socket.sendText("hi", true).join();
    assertThat(client.next()).isEqualTo("text+hi");
    engine.kill();
    assertThat(client.next()).isEqualTo("closed 1014");
    assertThat(router.cells.outcome()).isInstanceOfSatisfying(Outcome.Failed.class,
        failed -> assertThat(failed.transport()).isTrue());
    Await.await(() -> router.metric("kvasir_websockets_closed_total", "worker_lost") == 1);
  }

  @Test
  void engineThatDiesInAFrame_cutsTheClients() throws Exception {
    WebSocketEngine engine = start(new WebSocketEngine(connection -> {
      connection.accept();
      connection.write(new byte[] {(byte) 0x82, 100, 1, 2, 3});
    }));
    try (Socket client = router.connect()) {
      handshake(client, REALTIME, "");
      engine.next();
      byte[] rest = client.getInputStream().readAllBytes();
      assertThat(rest).isEqualTo(new byte[] {(byte) 0x82, 100, 1, 2, 3});
    } catch (IOException cut) {
      // Reset: that is as good.
    }
    assertThat(router.cells.outcome()).isInstanceOf(Outcome.Failed.class);
  }

  @Test
  void closeOfTheEngine_isIts() throws Exception {
    start(new WebSocketEngine(connection -> {
      connection.accept();
      connection.send(new Frame(true, CLOSE, new byte[] {0x0f, (byte) 0xa0}));
      connection.read();
    }));
    Client client = connect(REALTIME);
    assertThat(client.next()).isEqualTo("closed 4000");
    assertThat(router.cells.outcome()).isInstanceOf(Outcome.Completed.class);
    Await.await(() -> router.metric("kvasir_websockets_closed_total", "worker") == 1);
  }

  @Test
  void nodeThatStops_saysGoingAwayToBoth() throws Exception {
    WebSocketEngine engine = start(WebSocketEngine.echo());
    Client client = connect(REALTIME);
    client.socket.sendText("hi", true).join();
    assertThat(client.next()).isEqualTo("text+hi");
    router.drain(Duration.ofSeconds(30));
    assertThat(client.next()).isEqualTo("closed 1001");
    Connection at = engine.next();
    assertThat(at.received.take().text()).isEqualTo("hi");
    assertThat(at.received.poll(60, TimeUnit.SECONDS).closeCode()).isEqualTo(1001);
    assertThat(router.cells.outcome()).isInstanceOf(Outcome.Completed.class);
    assertThat(router.metric("kvasir_websockets_closed_total", "stopping")).isEqualTo(1);
  }

  @Test
  void nodeThatStops_letsAFrameEnd() throws Exception {
    CountDownLatch goOn = new CountDownLatch(1);
    byte[] frame = WebSocketEngine.bytes(new Frame(true, BINARY, new byte[1000]));
    start(new WebSocketEngine(connection -> {
      connection.accept();
      connection.write(Arrays.copyOf(frame, 500));
      goOn.await();
      connection.write(Arrays.copyOfRange(frame, 500, 1000));
      connection.write(Arrays.copyOfRange(frame, 1000, frame.length));
      connection.send(text("not relayed any more"));
      connection.read();
    }));
    try (Socket client = router.connect()) {
      handshake(client, REALTIME, "");
      DataInputStream in = new DataInputStream(client.getInputStream());
      byte[] begin = new byte[500];
      in.readFully(begin);
      Thread drain = Thread.startVirtualThread(() -> router.drain(Duration.ofSeconds(30)));
      Await.await("that the node stops", () -> router.get("/health").statusCode() == 503);
      goOn.countDown();
      in.readFully(new byte[frame.length - 500]);
      Frame last = WebSocketEngine.readFrame(in);
      while (last.opcode() == TEXT) {
        last = WebSocketEngine.readFrame(in);
      }
      assertThat(last.opcode()).isEqualTo(CLOSE);
      assertThat(last.closeCode()).isEqualTo(1001);
      drain.join();
    }
  }

  @Test
  void silence_closesIt() throws Exception {
    WebSocketEngine engine = WebSocketEngine.echo();
    start(engine, new TestRouter(
        TestRouter.EXECUTION.withWebSocketIdle(Duration.ofMillis(50)), GatewaySettings.defaults()));
    Client client = connect(REALTIME);
    assertThat(client.next()).isEqualTo("closed 1001");
    Await.await(() -> router.metric("kvasir_websockets_closed_total", "idle") == 1);
    assertThat(engine.next().received.poll(60, TimeUnit.SECONDS).closeCode()).isEqualTo(1001);
    assertThat(router.cells.outcome()).isInstanceOf(Outcome.Completed.class);
  }

  @ParameterizedTest
  @ValueSource(strings = {"/v1/realtime?model=m&model=other", "/v1/realtime?mod%65l=other&model=m"})
  void twoModels_areRefused_forTheEngineCouldTakeTheOther(String target) throws Exception {
    start(WebSocketEngine.echo());
    try (Socket client = router.connect()) {
      assertThat(handshake(client, target, "")).startsWith("HTTP/1.1 400 ");
    }
  }

  @Test
  void silenceInAFrame_cutsIt() throws Exception {
    start(
        new WebSocketEngine(connection -> {
          connection.accept();
          connection.write(new byte[] {(byte) 0x82, 100, 1, 2, 3});
          connection.read();
        }),
        new TestRouter(TestRouter.EXECUTION.withWebSocketIdle(Duration.ofMillis(50)), GatewaySettings.defaults()));
    try (Socket client = router.connect()) {
      handshake(client, REALTIME, "");
      Await.await(() -> router.metric("kvasir_websockets_closed_total", "idle") == 1);
      Await.await(() -> router.cells.open.get() == 0);
    }
  }

  @Test
  void slowReader_hasTheEngineWait_andCanStillSend() throws Exception {
    AtomicBoolean sentAll = new AtomicBoolean();
    BlockingQueue<String> arrived = new LinkedBlockingQueue<>();
    int frames = 1024;
    start(new WebSocketEngine(connection -> {
      connection.accept();
      Thread.ofVirtual().start(() -> {
        try {
          arrived.add(connection.read().text());
        } catch (IOException e) {
          arrived.add(e.toString());
        }
      });
      byte[] frame = WebSocketEngine.bytes(new Frame(true, BINARY, new byte[64 << 10]));
      for (int i = 0; i < frames; i++) {
        connection.write(frame);
      }
      sentAll.set(true);
      connection.send(new Frame(true, CLOSE, new byte[] {3, (byte) 0xe8}));
    }));
    try (Socket client = router.connect()) {
      handshake(client, REALTIME, "");
      client.getOutputStream().write(WebSocketEngine.masked(text("stop it")));
      assertThat(arrived.poll(60, TimeUnit.SECONDS)).isEqualTo("stop it");
      assertThat(sentAll).as("64 MiB are in no buffer").isFalse();
      DataInputStream in = new DataInputStream(client.getInputStream());
      for (int i = 0; i < frames; i++) {
        assertThat(WebSocketEngine.readFrame(in).payload()).hasSize(64 << 10);
      }
      assertThat(WebSocketEngine.readFrame(in).opcode()).isEqualTo(CLOSE);
    }
  }

  @Test
  void slowEngine_hasTheClientWait() throws Exception {
    CountDownLatch read = new CountDownLatch(1);
    AtomicBoolean sentAll = new AtomicBoolean();
    int frames = 1024;
    start(new WebSocketEngine(connection -> {
      connection.accept();
      connection.send(text("ready"));
      read.await();
      for (int i = 0; i < frames; i++) {
        connection.read();
      }
      connection.send(text("all"));
      connection.read();
    }));
    try (Socket client = router.connect()) {
      handshake(client, REALTIME, "");
      DataInputStream in = new DataInputStream(client.getInputStream());
      Thread sender = Thread.startVirtualThread(() -> {
        byte[] frame = WebSocketEngine.masked(new Frame(true, BINARY, new byte[64 << 10]));
        try {
          for (int i = 0; i < frames; i++) {
            client.getOutputStream().write(frame);
          }
          sentAll.set(true);
        } catch (IOException e) {
          // The assertions below fail.
        }
      });
      assertThat(WebSocketEngine.readFrame(in).text()).isEqualTo("ready");
      assertThat(sentAll).as("64 MiB are in no buffer").isFalse();
      read.countDown();
      assertThat(WebSocketEngine.readFrame(in).text()).isEqualTo("all");
      sender.join();
    }
  }

  private static Frame text(String text) {
    return new Frame(true, TEXT, text.getBytes(StandardCharsets.UTF_8));
  }

  private static byte[] request(String target, String headers) {
    return ("GET " + target + " HTTP/1.1\r\nHost: router\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n"
        + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " + KEY + "\r\n" + headers + "\r\n")
        .getBytes(StandardCharsets.US_ASCII);
  }

  private static String handshake(Socket client, String target, String headers) throws IOException {
    client.setSoTimeout(60_000);
    client.getOutputStream().write(request(target, headers));
    return TestRouter.readTo(client, "\r\n\r\n");
  }

  private Client connect(String target, String... headers) {
    Client client = new Client();
    WebSocket.Builder builder = router.client().newWebSocketBuilder();
    for (int i = 0; i < headers.length; i += 2) {
      builder.header(headers[i], headers[i + 1]);
    }
    client.socket = builder.buildAsync(URI.create("ws" + router.url(target).toString().substring(4)), client).join();
    return client;
  }

  /** A client that notes what comes. */
  private static final class Client implements WebSocket.Listener {
    final BlockingQueue<String> events = new LinkedBlockingQueue<>();
    final BlockingQueue<byte[]> binary = new LinkedBlockingQueue<>();
    WebSocket socket;


    String next() throws InterruptedException {
      String next = events.poll(60, TimeUnit.SECONDS);
      if (next == null) {
        throw new AssertionError("nothing came");
      }
      return next;
    }

    @Override
    public @Nullable CompletionStage<?> onText(WebSocket from, CharSequence text, boolean last) {
      events.add("text" + (last ? "+" : " ") + text);
      from.request(1);
      return null;
    }

    @Override
    public @Nullable CompletionStage<?> onBinary(WebSocket from, ByteBuffer bytes, boolean last) {
      byte[] piece = new byte[bytes.remaining()];
      bytes.get(piece);
      binary.add(piece);
      from.request(1);
      return null;
    }

    @Override
    public @Nullable CompletionStage<?> onPong(WebSocket from, ByteBuffer bytes) {
      events.add("pong " + StandardCharsets.UTF_8.decode(bytes));
      from.request(1);
      return null;
    }

    @Override
    public @Nullable CompletionStage<?> onClose(WebSocket from, int code, String reason) {
      events.add("closed " + code);
      return null;
    }

    @Override
    public void onError(WebSocket from, Throwable error) {
      events.add("failed " + error);
    }
  }
}
