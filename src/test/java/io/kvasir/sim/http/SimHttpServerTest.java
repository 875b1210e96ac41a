package io.kvasir.sim.http;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Requests on several connections come to the engine in the order in which they arrived. */
final class SimHttpServerTest {
  private static final int SECONDS = 10;

  private final List<String> order = new CopyOnWriteArrayList<>();
  private final CountDownLatch firstArrived = new CountDownLatch(1);
  private final CountDownLatch secondArrived = new CountDownLatch(1);
  private final CountDownLatch firstIsReady = new CountDownLatch(1);
  private final CountDownLatch over = new CountDownLatch(1);

  private void handle(SimHttpExchange exchange) throws IOException {
    if (exchange.path().equals("/first")) {
      firstArrived.countDown();
      await(firstIsReady);
      order.add("first");
      exchange.letLaterPass();
      await(over); // as one that generates for long
    } else if (exchange.path().equals("/failing")) {
      firstArrived.countDown();
      await(firstIsReady);
      order.add("failing");
      throw new IOException("the client left");
    } else {
      secondArrived.countDown();
      exchange.awaitEarlier();
      order.add("second");
    }
    exchange.reply(200, "text/plain", new byte[0]);
  }

  private static void await(CountDownLatch latch) {
    try {
      assertThat(latch.await(SECONDS, TimeUnit.SECONDS)).isTrue();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void laterRequest_waitsForTheEarlierOne_untilThatLetsItPass() throws Exception {
    try (SimHttpServer server = server();
        HttpClient http = HttpClient.newHttpClient()) {
      CompletableFuture<HttpResponse<Void>> first = send(http, server, "/first");
      await(firstArrived);
      CompletableFuture<HttpResponse<Void>> second = send(http, server, "/second");
      await(secondArrived);
      assertThat(order).isEmpty();
      firstIsReady.countDown();
      assertThat(second.get(SECONDS, TimeUnit.SECONDS).statusCode()).isEqualTo(200);
      assertThat(order).containsExactly("first", "second");
      over.countDown();
      assertThat(first.get(SECONDS, TimeUnit.SECONDS).statusCode()).isEqualTo(200);
    }
  }

  @Test
  void laterRequest_waitsForTheEarlierOne_untilThatFails() throws Exception {
    try (SimHttpServer server = server();
        HttpClient http = HttpClient.newHttpClient()) {
      CompletableFuture<HttpResponse<Void>> first = send(http, server, "/failing");
      await(firstArrived);
      CompletableFuture<HttpResponse<Void>> second = send(http, server, "/second");
      await(secondArrived);
      firstIsReady.countDown();
      assertThat(second.get(SECONDS, TimeUnit.SECONDS).statusCode()).isEqualTo(200);
      assertThat(first).failsWithin(Duration.ofSeconds(SECONDS));
      assertThat(order).containsExactly("failing", "second");
    }
  }

  private SimHttpServer server() throws IOException {
    return new SimHttpServer(
        new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
        new SimHttpLimits(1 << 20, Duration.ofSeconds(SECONDS)), this::handle);
  }

  private static CompletableFuture<HttpResponse<Void>> send(HttpClient http, SimHttpServer server, String path) {
    URI uri = URI.create("http://127.0.0.1:" + server.port() + path);
    return http.sendAsync(
        HttpRequest.newBuilder(uri)
            .version(HttpClient.Version.HTTP_1_1)
            .POST(BodyPublishers.ofString("{}")) // others are sent again
            .build(), BodyHandlers.discarding());
  }
}
