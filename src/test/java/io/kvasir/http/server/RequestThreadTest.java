package io.kvasir.http.server;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.http.ChannelLoop;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.concurrent.CountDownLatch;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Where requests of clients run, and what they do not hold up. */
final class RequestThreadTest extends HttpServerFixture {
  @ParameterizedTest
  @ValueSource(ints = {0, 100, 16 << 10, (16 << 10) + 1, 200_000})
  void request_runsOnTheThreadThatReadsItsConnection_whereItIsShort(int length) throws Exception {
    RawClient client = client(serve(RequestThreadTest::carrier));
    // It leaves that thread where it waits, as for a class that another thread initialises.
    boolean own = false;
    for (int i = 0; i < 20; i++) {
      own |= carrierOf(client.send(post("/", "x".repeat(length)))).startsWith("test-http-");
    }
    assertThat(own).isEqualTo(length <= 16 << 10);
  }

  @Test
  void requestWhoseBodyIsLongOnceDecoded_runsElsewhere() throws Exception {
    ByteArrayOutputStream zipped = new ByteArrayOutputStream();
    try (GZIPOutputStream zip = new GZIPOutputStream(zipped)) {
      zip.write(new byte[100_000]);
    }
    RawClient client =
        client(serve(RequestThreadTest::carrier))
            .send("POST / HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip\r\nContent-Length: " + zipped.size()
                + "\r\n\r\n" + zipped.toString(ISO_8859_1));
    assertThat(carrierOf(client)).startsWith("ForkJoinPool");
  }

  @Test
  void requestThatWaits_holdsUpNoOtherOfItsThread() throws Exception {
    CountDownLatch released = new CountDownLatch(1);
    CountDownLatch waiting = new CountDownLatch(1);
    try (ChannelLoop one = new ChannelLoop("test-one", 1);
        HttpServer server =
            HttpServer.start(
                system(),
                settings(),
                exchange -> {
                  if (exchange.target().equals("/waits")) {
                    waiting.countDown();
                    released.await();
                  }
                  return carrier(exchange);
                },
                one,
                new Metrics(new PrometheusRegistry()),
                NanoClock.SYSTEM);
        RawClient first = client(server).send(get("/waits", ""));
        RawClient second = client(server)) {
      waiting.await();
      assertThat(carrierOf(second.send(get("/", "")))).isNotEmpty();

      released.countDown();
      assertThat(carrierOf(first)).startsWith("ForkJoinPool");
    }
  }

  private static String carrierOf(RawClient client) throws IOException {
    String answer = client.answer();
    return answer.substring(answer.indexOf("\r\n\r\n") + 4);
  }

  /** The JVM writes who carries a virtual thread behind its name. */
  private static Response carrier(Exchange exchange) throws IOException {
    String thread = Thread.currentThread().toString();
    return text(200, thread.substring(thread.indexOf('@') + 1));
  }
}
