package io.kvasir.http.server;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.InstanceOfAssertFactories.type;

import io.kvasir.http.MemoryBudget;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import org.apache.pekko.util.ByteString;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class RequestFramerTest {
  private static final String GET = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";
  private static final String POST = "POST /b?c HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello";
  private static final String CHUNKED = "POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  private static final String CHUNKS = "5;x=\"y\"\r\nhello\r\n00006\r\n world\r\n0;last\r\nTrailer: t\r\n\r\n";

  private static final MemoryBudget MEMORY =
      new MemoryBudget(16 << 20, NanoClock.SYSTEM, new Metrics(new PrometheusRegistry()));

  /** What came out of a framer: pieces, and the targets of the requests. */
  private record Framed(List<String> pieces, List<String> targets) {
    String text() {
      return String.join("", pieces);
    }
  }

  @Test
  void headInOneByteSegments_isHandedOnOnceAndWhole() throws Exception {
    String head = "GET / HTTP/1.1\r\nHost: x\r\nX-Long: " + "x".repeat(16_000) + "\r\n\r\n";
    assertThat(framed(head, 1).pieces()).containsExactly(head);
  }

  @Test
  void requestInOneSegment_isHandedOnInOnePiece() throws Exception {
    assertThat(framed(POST, 1000).pieces()).containsExactly(POST);
  }

  @Test
  void plainBodyThatHasNotComeWhole_goesPastTheParser() throws Exception {
    String head = "POST /b HTTP/1.1\r\nContent-Length: 10\r\nHost: x\r\nContent-Type: text/plain\r\n\r\n";
    RequestFramer framer = new RequestFramer(MEMORY);
    framer.add((head + "hello").getBytes(ISO_8859_1));
    assertThat(text(Objects.requireNonNull(framer.next()))).isEqualTo(head.replace("10", "00"));
    PartialBody body = Objects.requireNonNull(framer.takePartialBody());
    assertThat(body.length()).isEqualTo(10);
    assertThat(text(body.begun())).isEqualTo("hello");
    assertThat(framer.next()).isNull();
    assertThat(framer.takesInput()).isFalse();
    assertThat(framer.isComplete()).isFalse();
    body.completed().run();
    assertThat(framer.isComplete()).isTrue();
    framer.startNextRequest();
    framer.add(GET.getBytes(ISO_8859_1));
    assertThat(text(Objects.requireNonNull(framer.next()))).isEqualTo(GET);
    assertThat(framer.takePartialBody()).isNull();
  }

  @ParameterizedTest
  @CsvSource({"Expect: 100-continue", "Content-Encoding: gzip", "X: no type"})
  void bodyThatIsNotPlain_goesToTheParser(String field) throws Exception {
    String type = field.startsWith("X") ? "" : "Content-Type: text/plain\r\n";
    String head = "POST /b HTTP/1.1\r\nHost: x\r\n" + type + field + "\r\nContent-Length: 10\r\n\r\n";
    RequestFramer framer = new RequestFramer(MEMORY);
    framer.add((head + "hello").getBytes(ISO_8859_1));
    assertThat(text(Objects.requireNonNull(framer.next()))).isEqualTo(head + "hello");
    assertThat(framer.takePartialBody()).isNull();
    assertThat(framer.takesInput()).isTrue();
  }

  @Test
  void nextRequest_waitsForTheAnswer() throws Exception {
    RequestFramer framer = new RequestFramer(MEMORY);
    framer.add((GET + POST).getBytes(ISO_8859_1));
    assertThat(text(Objects.requireNonNull(framer.next()))).isEqualTo(GET);
    assertThat(framer.isComplete()).isTrue();
    assertThat(framer.next()).isNull();
    assertThat(framer.takesInput()).isFalse();
    framer.startNextRequest();
    assertThat(text(Objects.requireNonNull(framer.next()))).isEqualTo(POST);
  }

  @Test
  void chunkedBody_isHandedOnAsPlainChunks() throws Exception {
    assertThat(framed(CHUNKED + CHUNKS, 1000).pieces())
        .containsExactly(CHUNKED, "0000000b\r\nhello world\r\n0\r\n\r\n");
  }

  @Test
  void oneByteChunks_areGathered() throws Exception {
    String chunks = "1\r\nx\r\n".repeat(10_000) + "0\r\n\r\n";
    Framed framed = framed(CHUNKED + chunks, 60_000);
    assertThat(framed.pieces()).hasSize(3);
    assertThat(framed.text()).hasSizeLessThan(10_200);
  }

  @Test
  void extensionsAndTrailersInOneByteSegments_areNotHandedOn() throws Exception {
    String odd = "1;" + "e".repeat(5000) + "\r\nx\r\n0\r\nT: " + "t".repeat(5000) + "\r\n\r\n";
    assertThat(framed(CHUNKED + odd, 1).pieces()).containsExactly(CHUNKED, "00000001\r\nx\r\n", "0\r\n\r\n");
  }

  @Test
  void anySegments_giveTheSameRequests() throws Exception {
    String all = GET + CHUNKED + CHUNKS + POST + GET;
    Random random = new Random(17);
    for (int round = 0; round < 2000; round++) {
      Framed framed = framed(all, round < all.length() ? round + 1 : -random.nextInt(2, 40));
      assertThat(framed.targets()).containsExactly("/a", "/c", "/b?c", "/a");
      assertThat(framed.text().replaceAll("0000000\\w\r\n([^\r]+)\r\n", "$1"))
          .isEqualTo(GET + CHUNKED + "hello world0\r\n\r\n" + POST + GET);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "GET / HTTP/1.1|nHost: x|n|n, 400",
    "GET / HTTP/1.1|r|nHost: x|n|r|n, 400",
    "GET / HTTP/1.1|r|nHost: x|r|r|n|r|n, 400",
    "|r|nGET / HTTP/1.1|r|nHost: x|r|n|r|n, 400",
    "GET  / HTTP/1.1|r|nHost: x|r|n|r|n, 400",
    "GET / |r|nHost: x|r|n|r|n, 505",
    "GET /|r|n|r|n, 400",
    "G(T / HTTP/1.1|r|nHost: x|r|n|r|n, 400",
    "GET /\u00e4 HTTP/1.1|r|nHost: x|r|n|r|n, 400",
    "GET / HTTP/2.0|r|nHost: x|r|n|r|n, 505",
    "GET / HTTP/1.10|r|nHost: x|r|n|r|n, 505",
    "GET / http/1.1|r|nHost: x|r|n|r|n, 505",
    "GET / HTTP/1.1|r|n|r|n, 400",
    "GET / HTTP/1.1|r|nHost: x|r|nhost: x|r|n|r|n, 400",
    "GET / HTTP/1.1|r|nHost : x|r|n|r|n, 400",
    "GET / HTTP/1.1|r|nHost: x|r|n folded|r|n|r|n, 400",
    "GET / HTTP/1.1|r|nHost: x|r|n: y|r|n|r|n, 400",
    "GET / HTTP/1.1|r|nHost: x|r|nX: a\u0000b|r|n|r|n, 400",
    "GET / HTTP/1.1|r|nHost: x|r|nX: \u00e4|r|n|r|n, 400",
    "GET / HTTP/1.1|r|nHost: x|r|nX: \u00e4b|r|n|r|n, 400",
    "GET / HTTP/1.1|r|nHost: x|r|nX: \u0080|r|n|r|n, 400",
    "GET / HTTP/1.1|r|nHost: x|r|nX: \u00f0\u0090\u0080|r|n|r|n, 400",
    "GET / HTTP/1.1|r|nHost: x|r|nContent-Length: 1|r|nContent-Length: 1|r|n|r|n, 400",
    "POST / HTTP/1.1|r|nHost: x|r|nContent-Type: a/b|r|ncontent-type: a/b|r|n|r|n, 400",
    "GET / HTTP/1.1|r|nHost: x|r|nContent-Length: +1|r|n|r|n, 400",
    "GET / HTTP/1.1|r|nHost: x|r|nContent-Length: |r|n|r|n, 400",
    "GET / HTTP/1.1|r|nHost: x|r|nContent-Length: 1234567890123456789|r|n|r|n, 400",
    "GET / HTTP/1.1|r|nHost: x|r|nContent-Length: 1|r|nTransfer-Encoding: chunked|r|n|r|n, 400",
    "GET / HTTP/1.1|r|nHost: x|r|nTransfer-Encoding: chunked|r|nTransfer-Encoding: chunked|r|n|r|n, 400",
    "GET / HTTP/1.1|r|nHost: x|r|nTransfer-Encoding: gzip|r|n|r|n, 501",
    "GET / HTTP/1.1|r|nHost: x|r|nTransfer-Encoding: chunked;q=1|r|n|r|n, 501",
    "GET / HTTP/1.0|r|nTransfer-Encoding: chunked|r|n|r|n, 400",
  })
  void malformedHeads_areRefused(String head, int status) {
    assertRefused(head.replace("|r", "\r").replace("|n", "\n"), status);
  }

  @ParameterizedTest
  @CsvSource({
    "x|r|n, 400",
    "|r|n, 400",
    "5 |r|nhello|r|n, 400",
    "5|nhello|r|n, 400",
    "5|r|nhelloo, 400",
    "5|r|nhello|n, 400",
    "80000000|r|n, 400",
    "00000000000000005|r|n, 400",
    "-1|r|n, 400",
    "5;a|nb|r|n, 400",
    "0|r|nT|r|n|r|n, 400",
    "0|r|n T: x|r|n|r|n, 400",
    "0|r|nT: x|n|r|n, 400",
    "0|r|n|rx, 400",
  })
  void malformedChunks_areRefused(String chunks, int status) {
    assertRefused(CHUNKED + chunks.replace("|r", "\r").replace("|n", "\n"), status);
  }

  @Test
  void limits_areExact() throws Exception {
    String rest = " HTTP/1.1\r\nHost: x\r\n";
    assertAccepted("GET /" + "p".repeat(8191) + rest + "\r\n");
    assertRefused("GET /" + "p".repeat(8192) + rest + "\r\n", 414);
    assertRefused("GET /" + "p".repeat(9000), 414);
    assertAccepted("GET /" + rest + "X: " + "v".repeat(16_382) + "\r\n\r\n");
    assertRefused("GET /" + rest + "X: " + "v".repeat(16_384) + "\r\n\r\n", 431);
    assertRefused("GET /" + rest + "X: " + "v".repeat(17_000), 431);
    assertAccepted("GET /" + rest + "X: \u00c3\u00a4\u00e2\u0082\u00ac\u00f0\u0090\u0080\u0080\r\n\r\n");
    assertAccepted("GET /" + rest + "n".repeat(256) + ": v\r\n\r\n");
    assertRefused("GET /" + rest + "n".repeat(257) + ": v\r\n\r\n", 431);
    assertAccepted("GET /" + rest + "X: y\r\n".repeat(127) + "\r\n");
    assertRefused("GET /" + rest + "X: y\r\n".repeat(128) + "\r\n", 431);
    assertRefused("GET /" + rest + ("X: " + "v".repeat(16_000) + "\r\n").repeat(5), 431);
    assertRefused(CHUNKED + "1;" + "e".repeat(17_000), 431);
  }

  @Test
  void longHeads_haveAPartOfTheMemory_shortOnesNeedNone() throws Exception {
    List<RequestFramer> within = new ArrayList<>();
    for (int round = 0; round < 3; round++) {
      while (accepts(30_000, within)) {
        assertThat(within).hasSizeLessThan(100);
      }
      assertThat(within).hasSizeGreaterThan(10);
      assertThat(accepts(4000, within)).isTrue();
      within.forEach(RequestFramer::end);
      within.clear();
    }
    RequestFramer framer = new RequestFramer(MEMORY);
    for (int request = 0; request < 1000; request++) {
      framer.add(begun(30_000));
      assertThat(framer.next()).isNull();
      framer.add("\r\n\r\n".getBytes(ISO_8859_1));
      assertThat(framer.next()).isNotNull();
      framer.startNextRequest();
    }
  }

  /** Whether the beginning of a head of that length is accepted. */
  private static boolean accepts(int length, List<RequestFramer> within) {
    RequestFramer framer = new RequestFramer(MEMORY);
    framer.add(begun(length));
    try {
      framer.next();
      within.add(framer);
      return true;
    } catch (RefusedRequestException e) {
      assertThat(e.failure().status()).isEqualTo(503);
      return false;
    }
  }

  private static byte[] begun(int length) {
    String line = "X: " + "x".repeat(995) + "\r\n";
    return ("GET / HTTP/1.1\r\nHost: x\r\n" + line.repeat(length / 1000 - 1) + "Y: y").getBytes(ISO_8859_1);
  }

  @Test
  void lastRequests_areKnown() throws Exception {
    assertThat(isLast("HTTP/1.1", "Connection: close")).isTrue();
    assertThat(isLast("HTTP/1.1", "connection: keep-alive, Close")).isTrue();
    assertThat(isLast("HTTP/1.1", "Connection: closed")).isFalse();
    assertThat(isLast("HTTP/1.1", "Connection: keep-alive")).isFalse();
    assertThat(isLast("HTTP/1.0", "X: y")).isTrue();
    assertThat(isLast("HTTP/1.0", "Connection: Keep-Alive")).isFalse();
  }

  private static boolean isLast(String version, String field) throws RefusedRequestException {
    RequestFramer framer = new RequestFramer(MEMORY);
    framer.add(("GET / " + version + "\r\nHost: x\r\n" + field + "\r\n\r\n").getBytes(ISO_8859_1));
    assertThat(framer.next()).isNotNull();
    return framer.isLast();
  }

  private static void assertAccepted(String request) throws RefusedRequestException {
    assertThat(framed(request, 4000).targets()).hasSize(1);
  }

  private static void assertRefused(String request, int status) {
    for (int segment : new int[] {1, 7, 100_000}) {
      assertThatThrownBy(() -> framed(request, segment))
          .asInstanceOf(type(RefusedRequestException.class))
          .extracting(refused -> refused.failure().status())
          .isEqualTo(status);
    }
  }

  /** Hands the text in, in segments of a length, or of any up to a negative one's, and answers requests at once. */
  private static Framed framed(String text, int segment) throws RefusedRequestException {
    Random random = new Random(segment);
    RequestFramer framer = new RequestFramer(MEMORY);
    Framed framed = new Framed(new ArrayList<>(), new ArrayList<>());
    byte[] bytes = text.getBytes(ISO_8859_1);
    int at = 0;
    while (at < bytes.length) {
      int length = segment > 0 ? segment : random.nextInt(1, 1 - segment);
      int end = Math.min(bytes.length, at + length);
      framer.add(Arrays.copyOfRange(bytes, at, end));
      at = end;
      while (!framer.takesInput()) {
        ByteString piece = framer.next();
        if (piece != null) {
          framed.pieces().add(text(piece));
        }
        if (framer.isComplete()) {
          framed.targets().add(framer.target());
          framer.startNextRequest();
        }
      }
    }
    return framed;
  }

  private static String text(@Nullable ByteString piece) {
    return piece == null ? "nothing" : new String(piece.toArrayUnsafe(), ISO_8859_1);
  }
}
