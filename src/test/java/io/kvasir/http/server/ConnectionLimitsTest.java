package io.kvasir.http.server;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.time.ManualClock;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
final class ConnectionLimitsTest extends HttpServerFixture {
  private final ManualClock clock = new ManualClock();

  @Test
  void newConnection_takesThePlaceOfTheOneThatWaitedLongest() throws Exception {
    HttpServer server = serve(HttpServerFixture::echo, settings().withMaxConnections(2), clock);
    RawClient oldest = asked(client(server));
    oneSecondAfter(server, 1);
    RawClient older = asked(client(server));
    oneSecondAfter(server, 2);
    asked(client(server));
    assertThat(oldest.rest()).isEmpty();
    asked(older);
    assertThat(server.openConnections()).isEqualTo(2);
  }

  @Test
  void connectionsThatWaitedAShortTimeOrAreAnswered_keepTheirPlace() throws Exception {
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch answer = new CountDownLatch(1);
    HttpServer server =
        serve(
            exchange -> {
              if (exchange.path().equals("/slow")) {
                begun.countDown();
                answer.await();
              }
              return echo(exchange);
            },
            settings().withMaxConnections(3),
            clock);
    RawClient slow = client(server).send(get("/slow", ""));
    begun.await();
    RawClient within = client(server);
    within.send("POST /w HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    assertThat(within.head()).startsWith("HTTP/1.1 100 ");
    clock.advance(Duration.ofSeconds(5));
    RawClient fresh = asked(client(server));
    assertThat(client(server).rest()).startsWith("HTTP/1.1 503 ").contains("Retry-After: 1\r\n", "limit is 3");
    asked(fresh);
    assertThat(within.send("ok").answer()).endsWith("POST /w ok");
    answer.countDown();
    assertThat(slow.answer()).startsWith("HTTP/1.1 200 ");
  }

  @Test
  void oneAddress_cannotTakeAll() throws Exception {
    HttpServer server =
        serve(HttpServerFixture::echo, settings().withMaxConnections(4).withMaxConnectionsPerAddress(2), clock);
    RawClient first = asked(client(server));
    RawClient second = asked(client(server));
    assertThat(client(server).rest()).startsWith("HTTP/1.1 503 ").contains("from this address: the limit is 2");
    RawClient other = asked(from("127.0.0.2", server));
    oneSecondAfter(server, 3);
    asked(second);
    oneSecondAfter(server, 3);
    // In place of one of the same address.
    asked(client(server));
    assertThat(first.rest()).isEmpty();
    asked(other);
    assertThat(server.openConnections()).isEqualTo(3);
  }

  @Test
  void addressThatIsRefused_keepsNoOtherOut() throws Exception {
    HttpServer server =
        serve(HttpServerFixture::echo, settings().withMaxConnections(4).withMaxConnectionsPerAddress(2), clock);
    RawClient oldest = asked(from("127.0.0.2", server));
    oneSecondAfter(server, 1);
    RawClient older = asked(from("127.0.0.2", server));
    oneSecondAfter(server, 2);
    for (int i = 0; i < 2; i++) {
      client(server).send("GET / HTT");
    }
    await(() -> server.openConnections() == 4 && server.idleConnections() == 2);
    assertThat(client(server).rest()).startsWith("HTTP/1.1 503 ").contains("from this address: the limit is 2");
    asked(from("127.0.0.2", server));
    assertThat(oldest.rest()).isEmpty();
    asked(from("127.0.0.3", server));
    assertThat(older.rest()).isEmpty();
  }

  @Test
  void closedConnections_areNotCounted() throws Exception {
    HttpServer server = serve(HttpServerFixture::echo, settings().withMaxConnectionsPerAddress(1), clock);
    for (int i = 0; i < 20; i++) {
      RawClient client = asked(client(server));
      client.close();
      await(() -> server.openConnections() == 0);
    }
  }

  /** A client has its answer a moment before the server waits for its next request. */
  private void oneSecondAfter(HttpServer server, int idle) {
    await(() -> server.idleConnections() == idle);
    clock.advance(Duration.ofSeconds(1));
  }

  private RawClient from(String address, HttpServer server) throws IOException {
    RawClient client =
        new RawClient(
            new Socket(
                server.address().getAddress(), server.address().getPort(), InetAddress.getByName(address), 0));
    open.add(client);
    return client;
  }

  private static RawClient asked(RawClient client) throws IOException {
    assertThat(client.send(get("/", "")).answer()).endsWith("GET / ");
    return client;
  }
}
