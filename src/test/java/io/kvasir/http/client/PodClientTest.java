package io.kvasir.http.client;

import static io.kvasir.Await.await;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.InstanceOfAssertFactories.type;

import io.kvasir.http.Headers;
import io.kvasir.http.TestTls;
import io.kvasir.http.client.PodException.Kind;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.ManualClock;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
final class PodClientTest {
  private static final Duration LONG = Duration.ofSeconds(60);
  private static final Duration SHORT = Duration.ofMillis(150);
  private static final String OK = "HTTP/1.1 200 OK\r\n";

  private final List<AutoCloseable> open = new ArrayList<>();

  @AfterEach
  void closeAll() throws Exception {
    for (AutoCloseable each : open.reversed()) {
      each.close();
    }
  }

  // Requests.

  @Test
  void request_arrivesAsWritten() throws Exception {
    CompletableFuture<RawPod.Request> seen = new CompletableFuture<>();
    RawPod pod =
        pod(
            (request, wire) -> {
              seen.complete(request);
              wire.write(OK + "Content-Length: 0\r\n\r\n");
            });
    Headers headers =
        Headers.of(
            "X-Request-Id", "7", "host", "elsewhere", "Content-Type", "application/json", "CONTENT-LENGTH", "1",
            "Transfer-Encoding", "chunked", "X-request-id", "8", "Expect", "100-continue");
    client().call(new PodRequest(pod.uri(), "POST", "/v1/x?a=%2F", headers, "{\"ä\":1}".getBytes(UTF_8))).send();
    assertThat(seen.get().head())
        .isEqualTo(
            String.join(
                "\r\n", "POST /v1/x?a=%2F HTTP/1.1", "Host: " + pod.uri().getAuthority(), "X-Request-Id: 7",
                "Content-Type: application/json", "X-request-id: 8", "Content-Length: 8", "", ""));
    assertThat(seen.get().body()).isEqualTo("{\"ä\":1}");
  }

  @Test
  void largeRequest_arrivesWhole() throws Exception {
    RawPod pod = pod((request, wire) -> wire.write(sized(String.valueOf(request.body().hashCode()))));
    for (int length : new int[] {16_383, 16_384, 16_385, 300_000, 3_000_000}) {
      String body = "0123456789".repeat(length / 10 + 1).substring(0, length);
      assertThat(body(post(client(), pod, body))).isEqualTo(String.valueOf(body.hashCode()));
    }
  }

  @Test
  void controlCharacters_areNotSent() throws Exception {
    RawPod pod = pod((request, wire) -> wire.write(sized("")));
    for (String bad : List.of("a\r\nX-Smuggled: 1", "a\nb", "a\u0000b", "a\rb")) {
      PodRequest request = new PodRequest(pod.uri(), "GET", "/", Headers.of("X-Y", bad), new byte[0]);
      assertThatThrownBy(() -> client().call(request)).isInstanceOf(IllegalArgumentException.class);
    }
    PodRequest request = new PodRequest(pod.uri(), "GET", "/ HTTP/1.1\r\nX-Y: z", Headers.EMPTY, new byte[0]);
    assertThatThrownBy(() -> client().call(request)).isInstanceOf(IllegalArgumentException.class);
  }

  // Answers.

  @Test
  void sizedBody_isRead() throws Exception {
    RawPod pod =
        pod(
            (request, wire) ->
                wire.write("HTTP/1.1 429 Slow down\r\nx-A: 1\r\nX-a:  2 \r\nContent-Length:5\r\n\r\n12345"));
    PodResponse response = get(client(), pod);
    assertThat(response.status()).isEqualTo(429);
    assertThat(response.headers().name(0)).isEqualTo("x-A");
    assertThat(response.headers().value(1)).isEqualTo("2");
    assertThat(response.contentLength()).isEqualTo(5);
    assertThat(body(response)).isEqualTo("12345");
  }

  @Test
  void chunkedBody_losesItsFraming() throws Exception {
    RawPod pod =
        pod(
            (request, wire) ->
                wire.write(
                    OK
                        + "Transfer-Encoding: chunked\r\n\r\n"
                        + "5\r\nhello\r\n1;ext=\"v\"\r\n \r\n005\nworld\n0\r\nT: x\r\n\r\n"));
    PodClient client = client();
    assertThat(body(get(client, pod))).isEqualTo("hello world");
    assertThat(body(get(client, pod))).isEqualTo("hello world");
    assertThat(pod.connections()).isEqualTo(1);
  }

  @Test
  void chunkedBody_survivesAnyFragmentation() throws Exception {
    Random random = new Random(42);
    for (int round = 0; round < 40; round++) {
      StringBuilder expected = new StringBuilder();
      StringBuilder framed = new StringBuilder();
      int chunks = random.nextInt(8);
      for (int i = 0; i < chunks; i++) {
        String data = "abcdefghij".repeat(2000).substring(0, 1 + random.nextInt(random.nextBoolean() ? 20 : 19_999));
        expected.append(data);
        framed.append(Integer.toHexString(data.length())).append("\r\n").append(data).append("\r\n");
      }
      framed.append("0\r\n\r\n");
      int piece = 1 + random.nextInt(3000);
      RawPod pod =
          pod(
              (request, wire) -> {
                wire.write(OK + "Transfer-Encoding: chunked\r\n\r\n");
                for (int at = 0; at < framed.length(); at += piece) {
                  wire.write(framed.substring(at, Math.min(framed.length(), at + piece)));
                }
              });
      PodResponse response = get(client(), pod);
      StringBuilder got = new StringBuilder();
      byte[] buffer = new byte[1 + random.nextInt(5000)];
      for (int n = response.read(buffer, 0, buffer.length); n >= 0; n = response.read(buffer, 0, buffer.length)) {
        assertThat(n).isPositive();
        got.append(new String(buffer, 0, n, UTF_8));
      }
      assertThat(got).hasToString(expected.toString());
    }
  }

  @Test
  void piecesOfTheBody_arriveAsTheyAreSent() throws Exception {
    CountDownLatch next = new CountDownLatch(1);
    RawPod pod =
        pod(
            (request, wire) -> {
              wire.write(OK + "Transfer-Encoding: chunked\r\n\r\n3\r\none\r\n");
              next.await();
              wire.write("3\r\ntwo\r\n0\r\n\r\n");
            });
    PodResponse response = get(client(), pod);
    byte[] buffer = new byte[100];
    assertThat(response.read(buffer, 0, 100)).isEqualTo(3);
    assertThat(response.hasEnded()).isFalse();
    next.countDown();
    assertThat(response.read(buffer, 0, 100)).isEqualTo(3);
    assertThat(response.hasEnded()).isTrue();
    assertThat(response.read(buffer, 0, 100)).isEqualTo(-1);
  }

  @Test
  void closeDelimitedBody_endsWithTheConnection() throws Exception {
    RawPod pod =
        pod(
            (request, wire) -> {
              wire.write("HTTP/1.0 200 OK\r\n\r\nall of it");
              wire.close();
            });
    PodClient client = client();
    assertThat(body(get(client, pod))).isEqualTo("all of it");
    assertThat(body(get(client, pod))).isEqualTo("all of it");
    assertThat(pod.connections()).isEqualTo(2);
  }

  @Test
  void informationalAnswers_areSkipped() throws Exception {
    RawPod pod =
        pod(
            (request, wire) ->
                wire.write("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + sized("x")));
    assertThat(body(get(client(), pod))).isEqualTo("x");
  }

  @ParameterizedTest
  @ValueSource(ints = {204, 304})
  void answerWithoutBody_endsAtItsHead(int status) throws Exception {
    RawPod pod = pod((request, wire) -> wire.write("HTTP/1.1 " + status + " x\r\nContent-Length: 10\r\n\r\n"));
    PodClient client = client();
    assertThat(body(get(client, pod))).isEmpty();
    assertThat(body(get(client, pod))).isEmpty();
    assertThat(pod.connections()).isEqualTo(1);
  }

  @Test
  void answerToHead_hasNoBody() throws Exception {
    RawPod pod = pod((request, wire) -> wire.write(OK + "Content-Length: 10\r\n\r\n"));
    PodClient client = client();
    for (int i = 0; i < 2; i++) {
      assertThat(body(client.call(new PodRequest(pod.uri(), "HEAD", "/", Headers.EMPTY, new byte[0])).send()))
          .isEmpty();
    }
    assertThat(pod.connections()).isEqualTo(1);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "SSH-2.0-OpenSSH\r\n\r\n",
        "HTTP/1.1 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n1",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\n\r\n",
      })
  void nonsense_isAProtocolError(String nonsense) throws Exception {
    RawPod pod = pod((request, wire) -> wire.write(nonsense));
    assertFails(Kind.PROTOCOL, () -> get(client(), pod));
  }

  @ParameterizedTest
  @ValueSource(strings = {"x\r\n", "5\r\nhelloo\r\n", "\r\n", "1000000000000000000\r\n"})
  void malformedChunk_isAProtocolError(String chunk) throws Exception {
    RawPod pod = pod((request, wire) -> wire.write(OK + "Transfer-Encoding: chunked\r\n\r\n" + chunk));
    assertFails(Kind.PROTOCOL, () -> body(get(client(), pod)));
  }

  @Test
  void endlessHead_isAProtocolError() throws Exception {
    RawPod pod = pod((request, wire) -> wire.write(OK + "X: y\r\n".repeat(20_000)));
    assertFails(Kind.PROTOCOL, () -> get(client(), pod));
  }

  @Test
  void bodyBeyondTheCallersLimit_isRefused() throws Exception {
    RawPod pod = pod((request, wire) -> wire.write(sized("12345")));
    assertThat(new String(get(client(), pod).readAll(5), UTF_8)).isEqualTo("12345");
    assertFails(Kind.PROTOCOL, () -> get(client(), pod).readAll(4));
  }

  // Connections.

  @Test
  void connection_isReusedOnlyAfterTheBodyWasRead() throws Exception {
    RawPod pod = pod((request, wire) -> wire.write(sized("on " + request.connection())));
    PodClient client = client();
    PodResponse first = get(client, pod);
    assertThat(body(get(client, pod))).isEqualTo("on 2");
    assertThat(body(get(client, pod))).isEqualTo("on 2");
    assertThat(body(first)).isEqualTo("on 1");
    assertThat(body(get(client, pod))).isEqualTo("on 1");
    get(client, pod).close();
    assertThat(body(get(client, pod))).isEqualTo("on 2");
  }

  @Test
  void connectionClose_isHonoured() throws Exception {
    RawPod pod = pod((request, wire) -> wire.write(OK + "connection: Close\r\nContent-Length: 1\r\n\r\nx"));
    PodClient client = client();
    body(get(client, pod));
    body(get(client, pod));
    assertThat(pod.connections()).isEqualTo(2);
  }

  @Test
  void connectionWithBytesNobodyAskedFor_isNotReused() throws Exception {
    RawPod pod = pod((request, wire) -> wire.write(sized("x") + "HTTP/1.1 200 OK\r\n\r\n"));
    PodClient client = client();
    body(get(client, pod));
    body(get(client, pod));
    assertThat(pod.connections()).isEqualTo(2);
  }

  @Test
  void idleConnection_expires() throws Exception {
    RawPod pod = pod((request, wire) -> wire.write(sized("x")));
    PodClient client = client(new PodClient.Settings(LONG, LONG, LONG, SHORT, 8, null, PodKeys.NONE));
    body(get(client, pod));
    CountDownLatch ended = new CountDownLatch(1);
    RawPod watching =
        pod(
            (request, wire) -> {
              wire.write(sized("x"));
              if (wire.in().read() < 0) {
                ended.countDown();
              }
            });
    body(get(client, watching));
    assertThat(ended.await(60, TimeUnit.SECONDS)).isTrue();
    body(get(client, pod));
    assertThat(pod.connections()).isEqualTo(2);
  }

  @Test
  void idleConnections_areBounded() throws Exception {
    RawPod pod = pod((request, wire) -> wire.write(sized("x")));
    PodClient client = client(new PodClient.Settings(LONG, LONG, LONG, LONG, 2, null, PodKeys.NONE));
    for (int round = 0; round < 2; round++) {
      List<PodResponse> all = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        all.add(get(client, pod));
      }
      for (PodResponse each : all) {
        body(each);
      }
    }
    assertThat(pod.connections()).isEqualTo(6);
  }

  @Test
  void postOnAConnectionTheEngineHasClosed_isSentAgain() throws Exception {
    RawPod pod = pod((request, wire) -> wire.write(sized(request.body() + request.connection())));
    PodClient client = client();
    assertThat(body(post(client, pod, "a"))).isEqualTo("a1");
    pod.closeConnections();
    assertThat(body(post(client, pod, "b"))).isEqualTo("b2");
  }

  @Test
  void postThatAnEngineHasRead_isNotSentAgain() throws Exception {
    AtomicInteger carriedOut = new AtomicInteger();
    RawPod pod = pod((request, wire) -> {
      if (request.body().equals("b")) {
        carriedOut.incrementAndGet();
        wire.reset();
      } else {
        wire.write(sized(request.body() + request.connection()));
      }
    });
    PodClient client = client();
    assertThat(body(post(client, pod, "a"))).isEqualTo("a1");
    assertFails(Kind.RESET, () -> post(client, pod, "b"));
    assertThat(carriedOut).hasValue(1);
    assertThat(pod.connections()).isEqualTo(1);
  }

  @ParameterizedTest
  @ValueSource(strings = {"GET", "HEAD", "PUT", "DELETE"})
  void idempotentRequestOnAConnectionTheEngineResets_isSentAgain(String method) throws Exception {
    RawPod pod = pod((request, wire) -> {
      if (request.connection() == 1 && !request.head().startsWith("POST")) {
        wire.reset();
      } else {
        wire.write(OK + "Content-Length: 0\r\n\r\n");
      }
    });
    PodClient client = client();
    body(post(client, pod, "a"));
    assertThat(client.call(new PodRequest(pod.uri(), method, "/", Headers.EMPTY, new byte[0])).send().status())
        .isEqualTo(200);
    assertThat(pod.connections()).isEqualTo(2);
  }

  @Test
  void requestWhoseAnswerHadBegun_isNotSentAgain() throws Exception {
    RawPod pod =
        pod(
            (request, wire) -> {
              if (request.body().equals("b")) {
                wire.write("HTTP/1.1 2");
                wire.close();
              } else {
                wire.write(sized("x"));
              }
            });
    PodClient client = client();
    body(post(client, pod, "a"));
    assertFails(Kind.RESET, () -> post(client, pod, "b"));
    assertThat(pod.connections()).isEqualTo(1);
  }

  @Test
  void freshConnectionThatCloses_isAReset() throws Exception {
    RawPod pod = pod((request, wire) -> wire.close());
    assertThatThrownBy(() -> post(client(), pod, "a"))
        .asInstanceOf(type(PodException.class))
        .satisfies(failed -> {
          assertThat(failed.kind()).isEqualTo(Kind.RESET);
          assertThat(failed.getMessage()).containsOnlyOnce("closed the connection before answering");
        });
    assertThat(pod.connections()).isEqualTo(1);
  }

  @Test
  void answerBeforeTheBodyWasRead_isSeen() throws Exception {
    RawPod early =
        pod(
            (request, wire) -> {
              wire.write("HTTP/1.1 413 Too large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno");
              wire.close();
            });
    PodResponse response = post(client(), early, "x".repeat(100));
    assertThat(response.status()).isEqualTo(413);
    assertThat(body(response)).isEqualTo("no");
  }

  @Test
  void refusedConnection_isAConnectError() throws Exception {
    try (Socket held = new Socket()) {
      // Bound and not listening: nobody else gets the port meanwhile.
      held.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
      assertFails(Kind.CONNECT, () -> get(client(), URI.create("http://127.0.0.1:" + held.getLocalPort())));
    }
    assertFails(Kind.CONNECT, () -> get(client(), URI.create("http://no-such-host.invalid:1")));
  }

  @Test
  void truncatedBody_isSaid() throws Exception {
    for (String framing :
        List.of("Content-Length: 10\r\n\r\n12345", "Transfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n")) {
      RawPod pod =
          pod(
              (request, wire) -> {
                wire.write(OK + framing);
                wire.close();
              });
      assertFails(Kind.TRUNCATED, () -> body(get(client(), pod)));
    }
  }

  // Time limits and aborting.

  @Test
  void lateHead_isAHeadTimeout() throws Exception {
    RawPod pod = pod((request, wire) -> wire.write("HTTP/1.1 200"));
    PodClient client = client(PodClient.Settings.defaults().withTimeouts(LONG, SHORT, LONG));
    assertFails(Kind.HEAD_TIMEOUT, () -> get(client, pod));
  }

  @Test
  void silentBody_isAnIdleTimeout() throws Exception {
    RawPod pod = pod((request, wire) -> wire.write(OK + "Content-Length: 9\r\n\r\nhalf"));
    PodClient client = client(PodClient.Settings.defaults().withTimeouts(LONG, LONG, SHORT));
    assertFails(Kind.IDLE_TIMEOUT, () -> body(get(client, pod)));
  }

  @Test
  void slowReader_isNotThePodsFault() throws Exception {
    ManualClock clock = new ManualClock();
    RawPod pod = pod((request, wire) -> wire.write(sized("x".repeat(100_000))));
    PodClient client = client(PodClient.Settings.defaults().withTimeouts(LONG, LONG, SHORT), clock);
    PodResponse response = get(client, pod);
    byte[] buffer = new byte[10];
    response.read(buffer, 0, 10);
    clock.advance(SHORT.multipliedBy(3));
    long before = clock.readings();
    await(() -> clock.readings() >= before + 2);
    assertThat(body(response)).hasSize(100_000 - 10);
  }

  @Test
  void abortBeforeTheHead_isSeenByThePodAtOnce() throws Exception {
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch gone = new CountDownLatch(1);
    RawPod pod =
        pod(
            (request, wire) -> {
              begun.countDown();
              if (wire.in().read() < 0) {
                gone.countDown();
              }
            });
    PodCall call = client().call(new PodRequest(pod.uri(), "GET", "/", Headers.EMPTY, new byte[0]));
    FutureTask<PodResponse> sent = run(call::send);
    begun.await();
    call.abort();
    assertThat(gone.await(60, TimeUnit.SECONDS)).isTrue();
    assertFails(Kind.ABORTED, () -> join(sent));
  }

  @Test
  void abortDuringTheBody_endsTheRead() throws Exception {
    RawPod pod = pod((request, wire) -> wire.write(OK + "Transfer-Encoding: chunked\r\n\r\n3\r\none\r\n"));
    PodClient client = client();
    PodCall call = client.call(new PodRequest(pod.uri(), "GET", "/", Headers.EMPTY, new byte[0]));
    PodResponse response = call.send();
    assertThat(response.read(new byte[9], 0, 9)).isEqualTo(3);
    FutureTask<Integer> reading = run(() -> response.read(new byte[9], 0, 9));
    call.abort();
    assertFails(Kind.ABORTED, () -> join(reading));
  }

  @Test
  void abortedCall_isNotSent() throws Exception {
    RawPod pod = pod((request, wire) -> wire.write(sized("")));
    PodCall call = client().call(new PodRequest(pod.uri(), "GET", "/", Headers.EMPTY, new byte[0]));
    call.abort();
    assertFails(Kind.ABORTED, call::send);
  }

  @Test
  void abortAfterTheEnd_leavesTheConnectionToItsNextUser() throws Exception {
    RawPod pod = pod((request, wire) -> wire.write(sized("on " + request.connection())));
    PodClient client = client();
    PodCall call = client.call(new PodRequest(pod.uri(), "GET", "/", Headers.EMPTY, new byte[0]));
    body(call.send());
    PodResponse next = get(client, pod);
    call.abort();
    assertThat(body(next)).isEqualTo("on 1");
  }

  @Test
  void close_abortsWhatIsUnderWay() throws Exception {
    CountDownLatch begun = new CountDownLatch(1);
    RawPod pod = pod((request, wire) -> begun.countDown());
    PodClient client = client();
    FutureTask<PodResponse> sent = run(() -> get(client, pod));
    begun.await();
    client.close();
    assertFails(Kind.ABORTED, () -> join(sent));
    assertFails(Kind.ABORTED, () -> get(client, pod));
  }

  @Test
  void badUrl_isNamed() {
    PodRequest request = new PodRequest(URI.create("ftp://x:1"), "GET", "/", Headers.EMPTY, new byte[0]);
    assertThatThrownBy(() -> client().call(request)).hasMessageContaining("ftp://x:1");
  }

  // TLS.

  @Test
  void https_verifiesTheHostAndReusesTheConnection() throws Exception {
    TestTls tls = TestTls.forHost("localhost");
    RawPod pod =
        new RawPod(
            tls.context().getServerSocketFactory().createServerSocket(0),
            "https",
            (request, wire) -> wire.write(sized("on " + request.connection())));
    open.add(pod);
    PodClient client = client(PodClient.Settings.defaults().withTls(tls.context()));
    assertThat(body(post(client, pod, "x".repeat(100_000)))).isEqualTo("on 1");
    assertThat(body(get(client, pod))).isEqualTo("on 1");
    assertFails(Kind.CONNECT, () -> get(client, URI.create("https://127.0.0.1:" + pod.uri().getPort())));
    assertFails(Kind.CONNECT, () -> get(client(), pod));
  }

  // Helpers.

  private static String sized(String body) {
    return OK + "Content-Length: " + body.length() + "\r\n\r\n" + body;
  }

  private static String body(PodResponse response) throws PodException {
    return new String(response.readAll(10_000_000), UTF_8);
  }

  private static PodResponse get(PodClient client, RawPod pod) throws PodException {
    return get(client, pod.uri());
  }

  private static PodResponse get(PodClient client, URI uri) throws PodException {
    return client.call(new PodRequest(uri, "GET", "/", Headers.EMPTY, new byte[0])).send();
  }

  private static PodResponse post(PodClient client, RawPod pod, String body) throws PodException {
    return client.call(new PodRequest(pod.uri(), "POST", "/", Headers.EMPTY, body.getBytes(UTF_8))).send();
  }

  private static <T> FutureTask<T> run(Callable<T> work) {
    FutureTask<T> task = new FutureTask<>(work);
    Thread.startVirtualThread(task);
    return task;
  }

  private static <T> T join(FutureTask<T> task) throws Throwable {
    try {
      return task.get(60, TimeUnit.SECONDS);
    } catch (ExecutionException e) {
      throw e.getCause();
    }
  }

  private static void assertFails(Kind kind, ThrowingCallable work) {
    assertThatThrownBy(work).asInstanceOf(type(PodException.class)).extracting(PodException::kind).isEqualTo(kind);
  }

  private RawPod pod(RawPod.Script script) throws IOException {
    RawPod pod = new RawPod(script);
    open.add(pod);
    return pod;
  }

  private PodClient client() {
    return client(PodClient.Settings.defaults());
  }

  private PodClient client(PodClient.Settings settings) {
    return client(settings, NanoClock.SYSTEM);
  }

  private PodClient client(PodClient.Settings settings, NanoClock clock) {
    PodClient client = new PodClient(settings, new Metrics(new PrometheusRegistry()), clock);
    open.add(client);
    return client;
  }
}
