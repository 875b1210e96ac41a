package io.kvasir.http.server;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.http.TestTls;
import io.kvasir.http.server.ReachedLimit.Kind;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What handlers learn of the limits for which requests do not reach them. */
@Timeout(60)
final class ReachedLimitsTest extends HttpServerFixture {
  private static final Duration LONG = Duration.ofSeconds(60);
  private static final Duration SHORT = Duration.ofMillis(200);

  private final List<RequestFailure> failures = new CopyOnWriteArrayList<>();
  private final List<ReachedLimit> unanswered = new CopyOnWriteArrayList<>();
  private final HttpHandler handler = new HttpHandler() {
    @Override
    public Response handle(Exchange exchange) {
      return echo(exchange);
    }

    @Override
    public Response.Buffered failure(ArrivedRequest request, RequestFailure why) {
      failures.add(why);
      return text(why.status(), why.message());
    }

    @Override
    public void unanswered(ReachedLimit limit) {
      unanswered.add(limit);
    }
  };

  @Test
  void connections() throws Exception {
    asked(serve(handler, settings().withMaxConnections(1)));
    assertThat(limit()).isEqualTo(new ReachedLimit(Kind.CONNECTIONS, 2, 1));
    assertThat(unanswered).isEmpty();
  }

  @Test
  void connectionsOfOneAddress() throws Exception {
    asked(serve(handler, settings().withMaxConnectionsPerAddress(1)));
    assertThat(limit()).isEqualTo(new ReachedLimit(Kind.CONNECTIONS_PER_ADDRESS, 2, 1));
  }

  private void asked(HttpServer server) throws Exception {
    assertThat(client(server).send(get("/", "")).answer()).startsWith("HTTP/1.1 200 ");
    assertThat(client(server).rest()).startsWith("HTTP/1.1 503 ");
  }

  @Test
  void connectionsThatCannotBeAnswered() throws Exception {
    ListenerTls tls = new ListenerTls(TestTls.forHost("localhost").context(), false);
    HttpServer server = serve(handler, settings().withMaxConnections(1).withTls(tls));
    client(server);
    await(() -> server.openConnections() == 1);
    assertThat(client(server).rest()).isEmpty();
    assertThat(unanswered).containsExactly(new ReachedLimit(Kind.CONNECTIONS, 2, 1));
    assertThat(failures).isEmpty();
  }

  @Test
  void lengthOfABody() throws Exception {
    HttpServer server = serve(handler, settings().withMaxBodyBytes(10));
    assertThat(client(server).send(post("/", "x".repeat(11))).answer()).startsWith("HTTP/1.1 413 ");
    assertThat(limit()).isEqualTo(new ReachedLimit(Kind.BODY_LENGTH, 11, 10));
    String chunked = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nc\r\n";
    assertThat(client(server).send(chunked + "x".repeat(12)).answer()).startsWith("HTTP/1.1 413 ");
    assertThat(limit()).isEqualTo(new ReachedLimit(Kind.BODY_LENGTH, 12, 10));
  }

  /** Three quarters of the budget are for large bodies, of which each byte takes four. */
  @Test
  void bodyThatNeverHasItsMemory() throws Exception {
    HttpServer server = serve(handler, settings().withMemoryBytes(1 << 20));
    assertThat(client(server).send(post("/", "x".repeat(200_000))).answer()).startsWith("HTTP/1.1 413 ");
    assertThat(limit()).isEqualTo(new ReachedLimit(Kind.MEMORY, 200_000, (3 << 20) / 4 / 4));
  }

  @Test
  void memoryForALongHead() throws Exception {
    HttpServer server = serve(handler, settings().withMemoryBytes(64 << 10));
    client(server).send("GET / HTTP/1.1\r\nHost: x\r\nX-Long: " + "x".repeat(9000)).rest();
    ReachedLimit reached = limit();
    assertThat(reached.kind()).isEqualTo(Kind.MEMORY);
    assertThat(reached.most()).isEqualTo(4 << 10);
    assertThat(reached.measured()).isGreaterThan(reached.most());
  }

  @Test
  void memoryForABody() throws Exception {
    HttpServer server = serve(handler, settings().withMemoryBytes(1 << 20));
    // Of two bodies that are complete but for a byte, each takes more than half of what bodies may.
    RawClient first = client(server).send(head(120_000) + "x".repeat(119_999));
    RawClient second = client(server).send(head(120_000) + "x".repeat(119_999));
    await(() -> !failures.isEmpty());
    ReachedLimit reached = limit();
    assertThat(reached.kind()).isEqualTo(Kind.MEMORY);
    assertThat(reached.most()).isEqualTo((3 << 20) / 4);
    assertThat(reached.measured()).isGreaterThan(reached.most());
    first.close();
    second.close();
  }

  @Test
  void timeForAHead() throws Exception {
    HttpServer server = serve(handler, limits(SHORT, LONG, LONG));
    assertThat(client(server).send("GET / HTTP/1.1\r\nHo").rest()).startsWith("HTTP/1.1 408 ");
    assertTime(Kind.HEAD_TIME, 200);
  }

  @Test
  void timeForABody() throws Exception {
    HttpServer server = serve(handler, limits(LONG, SHORT, LONG));
    assertThat(client(server).send(head(9) + "half").rest()).startsWith("HTTP/1.1 408 ");
    assertTime(Kind.BODY_TIME, 200);
  }

  @Test
  void timeInWhichNothingComes() throws Exception {
    HttpServer server = serve(handler, limits(LONG, LONG, SHORT));
    assertThat(client(server).send("GET / HTTP/1.1\r\nHo").rest()).startsWith("HTTP/1.1 408 ");
    assertTime(Kind.STALL_TIME, 200);
    assertThat(client(server).send(head(9) + "half").rest()).startsWith("HTTP/1.1 408 ");
    assertTime(Kind.STALL_TIME, 200);
  }

  private void assertTime(Kind kind, long most) {
    ReachedLimit reached = limit();
    assertThat(reached.kind()).isEqualTo(kind);
    assertThat(reached.most()).isEqualTo(most);
    assertThat(reached.measured()).isGreaterThanOrEqualTo(most);
  }

  @Test
  void serverThatStops() throws Exception {
    HttpServer server = serve(handler);
    RawClient within = client(server).send(head(2));
    await(() -> server.openConnections() == 1);
    Thread.startVirtualThread(() -> server.drain(LONG));
    await(() -> client(server).send(get("/", "")).answer().startsWith("HTTP/1.1 503 "));
    assertThat(limit()).isEqualTo(ReachedLimit.STOPPING);
    within.close();
  }

  @Test
  void malformedRequests_haveReachedNone() throws Exception {
    assertThat(client(serve(handler)).send("GET / HTTP/1.1\r\nHost : x\r\n\r\n").rest()).startsWith("HTTP/1.1 400 ");
    assertThat(failures).singleElement().extracting(RequestFailure::limit).isNull();
  }

  private static String head(int length) {
    return "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Length: " + length + "\r\n\r\n";
  }

  /** That of the latest failure. */
  private ReachedLimit limit() {
    return Objects.requireNonNull(failures.getLast().limit());
  }

  private static HttpSettings limits(Duration head, Duration body, Duration stall) {
    return settings().withTimeouts(new HttpSettings.Timeouts(head, body, LONG, LONG, stall, 1 << 20));
  }
}
