package io.kvasir.http.server;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.http.Headers;
import io.kvasir.time.ManualClock;
import java.io.InputStream;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
final class SlowClientsTest extends HttpServerFixture {
  private static final Duration LONG = Duration.ofSeconds(60);
  private static final Duration SHORT = Duration.ofMillis(200);

  @Test
  void headThatStalls_is408() throws Exception {
    RawClient client = client(serve(HttpServerFixture::echo, limits(LONG, LONG, SHORT, 1)));
    assertThat(client.send("GET / HTTP/1.1\r\nHo").rest()).startsWith("HTTP/1.1 408 ").contains("head did not arrive");
  }

  @Test
  void bodyThatStalls_is408() throws Exception {
    RawClient client = client(serve(HttpServerFixture::echo, limits(LONG, LONG, SHORT, 1)));
    client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Length: 9\r\n\r\nhalf");
    assertThat(client.rest()).startsWith("HTTP/1.1 408 ").contains("body did not arrive");
  }

  @Test
  void slowButSteadyBody_arrives() throws Exception {
    // Each byte gives a second more, so the body may take some times longer than its timeout.
    RawClient client = client(serve(HttpServerFixture::echo, limits(LONG, SHORT, LONG, 1)));
    client.send(
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Length: 40\r\n\r\n" + "x".repeat(20));
    for (int i = 0; i < 20; i++) {
      Thread.sleep(20);
      client.send("y");
    }
    assertThat(client.answer()).endsWith("y".repeat(20));
  }

  @Test
  void beginningOfANextHeadDuringAnAnswer_hasTheHeadsTimeLimit() throws Exception {
    CountDownLatch go = new CountDownLatch(1);
    HttpServer server =
        serve(
            exchange -> {
              go.await();
              return echo(exchange);
            },
            limits(SHORT, LONG, LONG, 1));
    RawClient client = client(server).send(get("/", "") + "GET /next HT");
    go.countDown();
    assertThat(client.rest()).contains("GET / HTTP/1.1 408 ");
  }

  @Test
  void slowButSteadyReader_getsItsAnswer() throws Exception {
    ManualClock clock = new ManualClock();
    byte[] body = new byte[64 << 20];
    HttpServer server =
        serve(
            exchange -> new Response.Buffered(200, Headers.EMPTY, body),
            settings().withTimeouts(new HttpSettings.Timeouts(LONG, LONG, LONG, SHORT, LONG, 1)),
            clock);
    RawClient client = client(server).send(get("/", ""));
    client.head();
    InputStream in = client.socket().getInputStream();
    // A part is more than sockets hold, so that the server has written some of the answer since the last one.
    for (int part = 0; part < 4; part++) {
      assertThat(in.readNBytes(16 << 20)).hasSize(16 << 20);
      clock.advance(SHORT.multipliedBy(2).dividedBy(3));
      long before = clock.readings();
      await(() -> clock.readings() >= before + 3);
    }
  }

  private static HttpSettings limits(Duration head, Duration body, Duration stall, int minRate) {
    return settings().withTimeouts(new HttpSettings.Timeouts(head, body, LONG, LONG, stall, minRate));
  }
}
