package io.kvasir.http.client;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.InstanceOfAssertFactories.type;

import io.kvasir.http.TestTls;
import io.kvasir.http.client.PodException.Kind;
import io.kvasir.load.Ports;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.ServerSocket;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Short answers, which {@link PodClient#get} reads, over real sockets. */
@Timeout(60)
final class ShortAnswersTest {
  private static final Duration LONG = Duration.ofSeconds(60);
  private static final Duration SHORT = Duration.ofMillis(150);
  private static final String OK = "HTTP/1.1 200 OK\r\n";

  private final List<AutoCloseable> open = new ArrayList<>();

  /** An answer with its body. */
  private record Page(int status, boolean whole, String body) {}

  @AfterEach
  void closeAll() throws Exception {
    for (AutoCloseable each : open.reversed()) {
      each.close();
    }
  }

  @Test
  void bodyInAnyPieces_isRead_onOneConnection() throws Exception {
    Random random = new Random(7);
    List<String> bodies = new ArrayList<>();
    RawPod pod = pod((request, wire) -> {
      String body = "abcdefghij".repeat(1 + random.nextInt(random.nextBoolean() ? 3 : 9_000));
      String framed = random.nextBoolean()
          ? sized(body)
          : OK + "Transfer-Encoding: chunked\r\n\r\n" + Integer.toHexString(body.length()) + "\r\n" + body
              + "\r\n0\r\n\r\n";
      bodies.add(body);
      int piece = 1 + random.nextInt(3_000);
      for (int at = 0; at < framed.length(); at += piece) {
        wire.write(framed.substring(at, Math.min(framed.length(), at + piece)));
      }
    });
    PodClient client = client(LONG);
    for (int i = 0; i < 40; i++) {
      assertThat(get(client, pod.uri(), 1_000_000)).isEqualTo(new Page(200, true, bodies.getLast()));
    }
    assertThat(pod.connections()).isEqualTo(1);
  }

  @Test
  void bodyOfAnotherStatus_isReadOver() throws Exception {
    RawPod pod = pod((request, wire) -> wire.write("HTTP/1.1 404 No\r\nContent-Length: 3\r\n\r\nabc"));
    PodClient client = client(LONG);
    assertThat(get(client, pod.uri(), 10)).isEqualTo(new Page(404, true, ""));
    assertThat(get(client, pod.uri(), 10)).isEqualTo(new Page(404, true, ""));
    assertThat(pod.connections()).isEqualTo(1);
  }

  @Test
  void bodyThatEndsWithTheConnection_isWhole() throws Exception {
    RawPod pod = pod((request, wire) -> {
      wire.write(OK + "\r\nabc");
      wire.close();
    });
    assertThat(get(client(LONG), pod.uri(), 10)).isEqualTo(new Page(200, true, "abc"));
  }

  @Test
  void longBody_isNotReadToItsEnd_andItsConnectionNotKept() throws Exception {
    RawPod pod = pod((request, wire) -> wire.write(sized("x".repeat(request.connection() == 1 ? 1_000_000 : 5))));
    PodClient client = client(LONG);
    assertThat(get(client, pod.uri(), 5)).isEqualTo(new Page(200, false, ""));
    assertThat(get(client, pod.uri(), 5)).isEqualTo(new Page(200, true, "xxxxx"));
    assertThat(get(client, pod.uri(), 4)).isEqualTo(new Page(200, false, ""));
    assertThat(pod.connections()).isEqualTo(2);
  }

  @Test
  void answersAtTheSameTime_haveAConnectionEach() throws Exception {
    CountDownLatch both = new CountDownLatch(2);
    RawPod pod = pod((request, wire) -> {
      both.countDown();
      both.await();
      wire.write(sized("on " + request.connection()));
    });
    PodClient client = client(LONG);
    CompletableFuture<ShortAnswer> first = client.get(pod.uri(), "/a", 10, (_, _) -> {});
    CompletableFuture<ShortAnswer> second = client.get(pod.uri(), "/b", 10, (_, _) -> {});
    assertThat(first.join()).isEqualTo(second.join());
    assertThat(pod.connections()).isEqualTo(2);
  }

  @Test
  void connectionWithBytesThatNobodyRequested_isNotKept() throws Exception {
    RawPod pod = pod((request, wire) -> wire.write(sized("x") + sized("y")));
    PodClient client = client(LONG);
    assertThat(get(client, pod.uri(), 10).body()).isEqualTo("x");
    assertThat(get(client, pod.uri(), 10).body()).isEqualTo("x");
    assertThat(pod.connections()).isEqualTo(2);
  }

  @Test
  void connectionThatIsClosedAfterEachAnswer_isReplaced() throws Exception {
    RawPod pod = pod((request, wire) -> {
      wire.write(sized("x"));
      wire.close();
    });
    PodClient client = client(LONG);
    for (int i = 0; i < 20; i++) {
      assertThat(get(client, pod.uri(), 10).body()).isEqualTo("x");
    }
  }

  @Test
  void requestOnAKeptConnectionThatIsReset_isSentAgain() throws Exception {
    RawPod pod = pod((request, wire) -> {
      if (request.connection() == 1 && request.head().startsWith("GET /b")) {
        wire.reset();
      } else {
        wire.write(sized("x"));
      }
    });
    PodClient client = client(LONG);
    assertThat(client.get(pod.uri(), "/a", 10, (_, _) -> {}).join().status()).isEqualTo(200);
    assertThat(client.get(pod.uri(), "/b", 10, (_, _) -> {}).join().status()).isEqualTo(200);
    assertThat(pod.connections()).isEqualTo(2);
  }

  @Test
  void requestWhoseAnswerHadBegun_isNotSentAgain() throws Exception {
    RawPod pod = pod((request, wire) -> {
      if (request.head().startsWith("GET /b")) {
        wire.write("HTTP/1.1 2");
        wire.close();
      } else {
        wire.write(sized("x"));
      }
    });
    PodClient client = client(LONG);
    client.get(pod.uri(), "/a", 10, (_, _) -> {}).join();
    assertFails(Kind.RESET, () -> client.get(pod.uri(), "/b", 10, (_, _) -> {}).join());
    assertThat(pod.connections()).isEqualTo(1);
  }

  @Test
  void freshConnectionThatCloses_isAReset() throws Exception {
    RawPod pod = pod((request, wire) -> wire.close());
    assertFails(Kind.RESET, () -> get(client(LONG), pod.uri(), 10));
    assertThat(pod.connections()).isEqualTo(1);
  }

  @Test
  void cutBody_isTruncated() throws Exception {
    RawPod pod = pod((request, wire) -> {
      wire.write(OK + "Content-Length: 9\r\n\r\nhalf");
      wire.close();
    });
    assertFails(Kind.TRUNCATED, () -> get(client(LONG), pod.uri(), 10));
  }

  @Test
  void nobodyThere_isAConnectError() throws Exception {
    URI nobody = URI.create("http://localhost:" + Ports.free());
    assertFails(Kind.CONNECT, () -> get(client(LONG), nobody, 10));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "SSH-2.0-OpenSSH\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
        "HTTP/1.1 101 Switching Protocols\r\n\r\n",
      })
  void nonsense_isAProtocolError(String nonsense) throws Exception {
    RawPod pod = pod((request, wire) -> wire.write(nonsense));
    assertFails(Kind.PROTOCOL, () -> get(client(LONG), pod.uri(), 10));
  }

  @Test
  void endlessHead_isAProtocolError() throws Exception {
    RawPod pod = pod((request, wire) -> wire.write(OK + "X: y\r\n".repeat(20_000)));
    assertFails(Kind.PROTOCOL, () -> get(client(LONG), pod.uri(), 10));
  }

  @Test
  void informationalAnswers_areSkipped() throws Exception {
    RawPod pod = pod((request, wire) -> wire.write("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + sized("x")));
    assertThat(get(client(LONG), pod.uri(), 10)).isEqualTo(new Page(200, true, "x"));
  }

  @Test
  void answerThatIsLate_isCut_andOthersAreNot() throws Exception {
    RawPod silent = pod((request, wire) -> {});
    RawPod half = pod((request, wire) -> wire.write(OK + "Content-Length: 9\r\n\r\nhalf"));
    PodClient client = client(SHORT);
    CompletableFuture<ShortAnswer> head = client.get(silent.uri(), "/", 10, (_, _) -> {});
    CompletableFuture<ShortAnswer> body = client.get(half.uri(), "/", 10, (_, _) -> {});
    assertFails(Kind.HEAD_TIMEOUT, head::join);
    assertFails(Kind.IDLE_TIMEOUT, body::join);
  }

  /** Each piece comes in time, the answer does not. */
  @ParameterizedTest
  @ValueSource(strings = {"http", "https"})
  void answerThatDripsIn_isLate(String scheme) throws Exception {
    TestTls tls = TestTls.forHost("localhost");
    RawPod pod = new RawPod(
        scheme.equals("http") ? new ServerSocket(0) : tls.context().getServerSocketFactory().createServerSocket(0),
        scheme,
        (request, wire) -> {
          wire.write(OK + "Transfer-Encoding: chunked\r\n\r\n");
          while (true) {
            wire.write("1\r\nx\r\n");
            TimeUnit.MILLISECONDS.sleep(10);
          }
        });
    open.add(pod);
    PodClient client = client(
        new PodClient.Settings(LONG, Duration.ofSeconds(1), LONG, LONG, 2, tls.context(), PodKeys.NONE));
    assertFails(Kind.IDLE_TIMEOUT, () -> get(client, pod.uri(), 1_000_000));
  }

  @Test
  void https_isReadAsWell() throws Exception {
    TestTls tls = TestTls.forHost("localhost");
    RawPod pod = new RawPod(
        tls.context().getServerSocketFactory().createServerSocket(0), "https",
        (request, wire) -> wire.write(sized("on " + request.connection())));
    open.add(pod);
    PodClient client = client(PodClient.Settings.defaults().withTls(tls.context()));
    assertThat(get(client, pod.uri(), 10)).isEqualTo(new Page(200, true, "on 1"));
    assertThat(get(client, pod.uri(), 3)).isEqualTo(new Page(200, false, ""));
    assertFails(Kind.CONNECT, () -> get(client(LONG), pod.uri(), 10));
  }

  @Test
  void idleConnection_expires() throws Exception {
    CountDownLatch ended = new CountDownLatch(1);
    RawPod pod = pod((request, wire) -> {
      wire.write(sized("x"));
      if (wire.in().read() < 0) {
        ended.countDown();
      }
    });
    PodClient client = client(new PodClient.Settings(LONG, LONG, LONG, SHORT, 2, null, PodKeys.NONE));
    get(client, pod.uri(), 10);
    assertThat(ended.await(60, TimeUnit.SECONDS)).isTrue();
  }

  @Test
  void close_endsWhatIsUnderWay_andWhatIsKept() throws Exception {
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch ended = new CountDownLatch(2);
    RawPod pod = pod((request, wire) -> {
      if (request.head().startsWith("GET /slow")) {
        begun.countDown();
      } else {
        wire.write(sized("x"));
      }
      if (wire.in().read() < 0) {
        ended.countDown();
      }
    });
    PodClient client = client(LONG);
    CompletableFuture<ShortAnswer> slow = client.get(pod.uri(), "/slow", 10, (_, _) -> {});
    begun.await();
    get(client, pod.uri(), 10);
    client.close();
    assertFails(Kind.ABORTED, slow::join);
    assertFails(Kind.ABORTED, () -> get(client, pod.uri(), 10));
    assertThat(ended.await(60, TimeUnit.SECONDS)).isTrue();
  }

  @Test
  void badUrl_isNamed() {
    assertThatThrownBy(() -> get(client(LONG), URI.create("ftp://x:1"), 10)).hasMessageContaining("ftp://x:1");
  }

  private static String sized(String body) {
    return OK + "Content-Length: " + body.length() + "\r\n\r\n" + body;
  }

  private static Page get(PodClient client, URI pod, long maxBytes) {
    ByteArrayOutputStream body = new ByteArrayOutputStream();
    ShortAnswer answer = client.get(pod, "/", maxBytes, (buffer, length) -> body.write(buffer, 0, length)).join();
    return new Page(answer.status(), answer.whole(), body.toString(UTF_8));
  }

  private static void assertFails(Kind kind, ThrowingCallable work) {
    assertThatThrownBy(work)
        .isInstanceOf(CompletionException.class)
        .cause()
        .asInstanceOf(type(PodException.class))
        .extracting(PodException::kind)
        .isEqualTo(kind);
  }

  private RawPod pod(RawPod.Script script) throws IOException {
    RawPod pod = new RawPod(script);
    open.add(pod);
    return pod;
  }

  private PodClient client(Duration timeout) {
    return client(PodClient.Settings.defaults().withTimeouts(LONG, timeout, timeout));
  }

  private PodClient client(PodClient.Settings settings) {
    PodClient client = new PodClient(settings, new Metrics(new PrometheusRegistry()), NanoClock.SYSTEM);
    open.add(client);
    return client;
  }
}
