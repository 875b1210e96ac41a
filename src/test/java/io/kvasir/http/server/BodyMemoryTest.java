package io.kvasir.http.server;

import static io.kvasir.Await.await;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.http.ChannelLoop;
import io.kvasir.http.Headers;
import io.kvasir.http.StreamingBody;
import io.kvasir.telemetry.Metrics;
import io.kvasir.telemetry.TestMetrics;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The memory of request bodies, over real sockets. */
@Timeout(60)
final class BodyMemoryTest {
  private static final int MIB = 1 << 20;
  private static final long BUDGET = 32L * MIB;

  private static ActorSystem<Void> system;

  private final PrometheusRegistry registry = new PrometheusRegistry();
  private final List<AutoCloseable> open = new ArrayList<>();
  private final ChannelLoop loop = new ChannelLoop("test-http", ChannelLoop.defaultThreads());

  @BeforeAll
  static void startSystem() {
    system = ActorSystem.create(Behaviors.empty(), "BodyMemoryTest");
  }

  @AfterAll
  static void stopSystem() {
    system.terminate();
    system.getWhenTerminated().toCompletableFuture().join();
  }

  @AfterEach
  void closeAll() throws Exception {
    for (AutoCloseable each : open.reversed()) {
      each.close();
    }
    await("all memory to be given back", () -> used() == 0 && buffers() == 0);
  }

  @Test
  void announcedBodies_takeWhatHasCome_notWhatWasAnnounced() throws Exception {
    HttpServer server = serve(BodyMemoryTest::length);
    for (int i = 0; i < 256; i++) {
      client(server).send(head("/", 2 * MIB) + "x");
    }
    await("every first byte to be booked", () -> used() >= 256 * 4);
    assertThat(client(server).send(post("/", "ordinary")).answer()).endsWith("8");
    // 2 KiB each, four times.
    assertThat(peak()).isBetween(256L * 4, 256L * (8 << 10) + (64 << 10));
  }

  @Test
  void bodiesHalfRead_thatTakeAllMemory_keepNoOrdinaryRequestOut() throws Exception {
    HttpServer server = serve(BodyMemoryTest::length);
    String half = "x".repeat(MIB);
    List<Thread> senders = new ArrayList<>();
    AtomicInteger refused = new AtomicInteger();
    CountDownLatch sent = new CountDownLatch(64);
    for (int i = 0; i < 64; i++) {
      RawClient client = client(server);
      senders.add(
          Thread.ofVirtual()
              .start(
                  () -> {
                    try {
                      client.send(head("/", 2 * MIB) + half);
                      sent.countDown();
                      if (client.answer().startsWith("HTTP/1.1 503 ")) {
                        refused.incrementAndGet();
                      }
                    } catch (IOException e) {
                      // Closed when the test ends, or while it was still sending.
                      sent.countDown();
                    }
                  }));
    }
    for (int i = 0; i < 200; i++) {
      assertThat(client(server).send(post("/", "y".repeat(2000))).answer()).endsWith("\r\n\r\n2000");
    }
    sent.await();
    for (int i = 0; i < 200; i++) {
      assertThat(client(server).send(post("/", "y".repeat(2000))).answer()).endsWith("\r\n\r\n2000");
    }
    await("one that found no memory to read its refusal", () -> refused.get() > 0);
    assertThat(refusals()).isPositive();
    assertThat(peak()).isLessThanOrEqualTo(BUDGET);
    closeClients();
    for (Thread sender : senders) {
      sender.join();
    }
  }

  @Test
  void bodies_thatCannotAllBeHeld_areAnsweredOrRefused_andTheNodeGoesOn() throws Exception {
    HttpServer server = serve(BodyMemoryTest::length);
    String body = "x".repeat(2 * MIB);
    AtomicInteger answered = new AtomicInteger();
    AtomicInteger refused = new AtomicInteger();
    List<Thread> senders = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      RawClient client = client(server);
      senders.add(
          Thread.ofVirtual()
              .start(
                  () -> {
                    try {
                      String answer = client.send(post("/", body)).answer();
                      (answer.startsWith("HTTP/1.1 200 ") ? answered : refused).incrementAndGet();
                    } catch (IOException e) {
                      // Refused, and the connection closed, while it was still sending.
                      refused.incrementAndGet();
                    }
                  }));
    }
    for (Thread sender : senders) {
      sender.join();
    }
    assertThat(answered).hasPositiveValue();
    assertThat(answered.get() + refused.get()).isEqualTo(20);
    assertThat(peak()).isLessThanOrEqualTo(BUDGET);
    await("all memory to be given back", () -> used() == 0);
    assertThat(client(server).send(post("/", body)).answer()).endsWith(Integer.toString(2 * MIB));
  }

  @Test
  void body_thatNoMemoryCanEverHold_isTooLong() throws Exception {
    HttpServer server = serve(BodyMemoryTest::length);
    assertThat(client(server).send(head("/", 6 * MIB + 1)).answer())
        .startsWith("HTTP/1.1 413 ").contains("longer than the limit of 6291456 bytes");
    String chunk = Integer.toHexString(MIB) + "\r\n" + "x".repeat(MIB) + "\r\n";
    RawClient chunked = client(server);
    chunked.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk.repeat(6));
    assertThat(chunked.send("1\r\nx\r\n").answer()).startsWith("HTTP/1.1 413 ");
  }

  @Test
  void wholeBodies_waitForMemory_andGetIt() throws Exception {
    CountDownLatch mayAnswer = new CountDownLatch(1);
    HttpServer server =
        serve(
            exchange -> {
              if (exchange.path().equals("/slow")) {
                mayAnswer.await();
              }
              return length(exchange);
            });
    RawClient slow = client(server).send(post("/slow", "x".repeat(6 * MIB)));
    await("the large body to be complete", () -> used() == 4L * 6 * MIB);
    RawClient next = client(server).send(post("/", "x".repeat(MIB)));
    await("the next one to wait", () -> TestMetrics.sum(registry, "kvasir_http_memory_waits") == 1);
    mayAnswer.countDown();
    assertThat(slow.answer()).endsWith(Integer.toString(6 * MIB));
    assertThat(next.answer()).endsWith(Integer.toString(MIB));
  }

  @Test
  void buffersForLargeReads_areGivenBack_whenTheBodyHasCome() throws Exception {
    CountDownLatch reached = new CountDownLatch(1);
    CountDownLatch mayAnswer = new CountDownLatch(1);
    HttpServer server = serveHeld(reached, mayAnswer);
    RawClient client = client(server);
    beginLargeReads(client);
    client.send("4000\r\n" + "x".repeat(0x4000) + "\r\n0\r\n\r\n");
    reached.await();
    await("the buffers to be given back before the answer", () -> buffers() == 0);
    mayAnswer.countDown();
    assertThat(client.answer()).endsWith("\r\n\r\n" + (0x1ff8 + 0x4000));
  }

  /** Answers with a body's length, not before it may. */
  private HttpServer serveHeld(CountDownLatch reached, CountDownLatch mayAnswer) throws Exception {
    return serve(exchange -> {
      reached.countDown();
      mayAnswer.await();
      return length(exchange);
    });
  }

  /** Sends a head, and a chunk that fills what is read at once, so that more is read from then on. */
  private void beginLargeReads(RawClient client) throws IOException {
    client.send("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n");
    assertThat(client.head()).startsWith("HTTP/1.1 100 ");
    client.send("1ff8\r\n" + "x".repeat(0x1ff8) + "\r\n");
    await("a buffer for large reads", () -> buffers() > 0);
  }

  @Test
  void requests_pipelinedBehindALargeOne_areAnsweredInOrder() throws Exception {
    CountDownLatch reached = new CountDownLatch(1);
    CountDownLatch mayAnswer = new CountDownLatch(1);
    HttpServer server = serveHeld(reached, mayAnswer);
    String body = "x".repeat(MIB);
    RawClient client = client(server).send(head("/", MIB) + body);
    reached.await();
    String next = post("/", "y".repeat(100));
    client.send(next.repeat(1000));
    mayAnswer.countDown();
    assertThat(client.answer()).endsWith(Integer.toString(MIB));
    for (int i = 0; i < 1000; i++) {
      assertThat(client.answer()).endsWith("\r\n\r\n100");
    }
  }

  @Test
  void memory_isGivenBack_howeverTheExchangeEnds() throws Exception {
    CountDownLatch reached = new CountDownLatch(2);
    HttpServer server =
        serve(
            exchange ->
                switch (exchange.path()) {
                  case "/throws" -> throw new IllegalStateException("on purpose");
                  case "/error" -> throw new StackOverflowError("on purpose");
                  case "/stream" -> stream(
                      body -> body.write("data\n\n".getBytes(UTF_8), 0, 6));
                  case "/cut" -> stream(
                      body -> {
                        throw new IOException("on purpose");
                      });
                  case "/cancelled" -> {
                    CountDownLatch cancelled = new CountDownLatch(1);
                    exchange.cancellation().onCancelled(cancelled::countDown);
                    reached.countDown();
                    cancelled.await();
                    yield length(exchange);
                  }
                  default -> length(exchange);
                });
    String body = "x".repeat(100_000);
    for (String path : List.of("/", "/throws", "/error", "/stream", "/cut")) {
      client(server).send(post(path, body)).send(get()).readTo("\r\n\r\n");
      await(path + " to give its memory back", () -> used() == 0);
    }
    RawClient leaving = client(server).send(post("/cancelled", body));
    RawClient halfway = client(server).send(head("/", 1000) + "half");
    RawClient alsoLeaving = client(server).send(post("/cancelled", body));
    reached.await();
    await("both bodies and the half one to be booked", () -> used() > 2 * 4 * 100_000);
    leaving.close();
    halfway.close();
    alsoLeaving.close();
    await("the memory of those that left", () -> used() == 0);
  }

  @Test
  void memoryOfAnExchange_isBookedOnTopOfItsBody_andFreedWithIt() throws Exception {
    HttpServer server =
        serve(
            exchange -> {
              boolean fits = exchange.memory().tryBook(BUDGET / 2);
              boolean fitsTwice = exchange.memory().tryBook(BUDGET / 2);
              return text(200, used() + " " + fits + " " + fitsTwice);
            });
    assertThat(client(server).send(post("/", "x".repeat(1000))).answer()).endsWith((BUDGET / 2 + 4000) + " true false");
    assertThat(TestMetrics.sum(registry, "kvasir_http_memory_refusals", "reading")).isEqualTo(1);
  }

  private long used() {
    return (long) TestMetrics.sum(registry, "kvasir_http_memory_used_bytes");
  }

  private double buffers() {
    return TestMetrics.sum(registry, "kvasir_http_memory_buffers_bytes");
  }

  private long peak() {
    return (long) TestMetrics.sum(registry, "kvasir_http_memory_peak_bytes");
  }

  private double refusals() {
    return TestMetrics.sum(registry, "kvasir_http_memory_refusals");
  }

  private HttpServer serve(HttpHandler handler) throws IOException {
    HttpSettings settings = HttpSettings.at("127.0.0.1", 0).withMemoryBytes(BUDGET);
    HttpServer server = HttpServer.start(system, settings, handler, loop, new Metrics(registry), NanoClock.SYSTEM);
    open.add(server);
    return server;
  }

  private RawClient client(HttpServer server) throws IOException {
    RawClient client = new RawClient(server.address());
    open.add(client);
    return client;
  }

  private void closeClients() throws Exception {
    for (AutoCloseable each : open) {
      if (each instanceof RawClient client) {
        client.close();
      }
    }
    loop.close();
  }

  private static Response length(Exchange exchange) {
    return text(200, Integer.toString(exchange.body().length));
  }

  private static Response text(int status, String text) {
    return new Response.Buffered(status, Headers.of("Content-Type", "text/plain"), text.getBytes(UTF_8));
  }

  private static Response stream(StreamingBody.Writer body) {
    return new Response.Streaming(200, Headers.of("Content-Type", "text/event-stream"), StreamingBody.of(body));
  }

  private static String get() {
    return "GET /next HTTP/1.1\r\nHost: x\r\n\r\n";
  }

  private static String head(String path, int length) {
    return "POST " + path + " HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Length: " + length
        + "\r\n\r\n";
  }

  private static String post(String path, String body) {
    return head(path, body.length()) + body;
  }
}
