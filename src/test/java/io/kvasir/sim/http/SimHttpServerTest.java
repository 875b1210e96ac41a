package io.kvasir.sim.http;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvasir.Await;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** Requests come to the engine in the order in which they arrived, over real sockets. */
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

  /** Many at once: on several threads, some would be read before others that came earlier. */
  @Test
  void requests_ofManyConnections_areTakenInTheOrderInWhichTheyCame() throws Exception {
    List<String> taken = new CopyOnWriteArrayList<>();
    List<Socket> sockets = new ArrayList<>();
    try (SimHttpServer server = server(
        exchange -> {
          exchange.awaitEarlier();
          taken.add(exchange.path());
          exchange.reply(200, "text/plain", new byte[0]);
        })) {
      List<String> sent = new ArrayList<>();
      for (int i = 0; i < 64; i++) {
        sockets.add(new Socket(InetAddress.getLoopbackAddress(), server.port()));
        write(sockets.getLast(), "GET /accepted HTTP/1.1\r\n\r\n");
        assertThat(head(sockets.getLast())).startsWith("HTTP/1.1 200 OK");
      }
      taken.clear();
      for (int round = 0; round < 20; round++) {
        Collections.shuffle(sockets, new Random(round));
        for (Socket socket : sockets) {
          sent.add("/" + sent.size());
          write(socket, "GET " + sent.getLast() + " HTTP/1.1\r\n\r\n");
        }
        for (Socket socket : sockets) {
          assertThat(head(socket)).startsWith("HTTP/1.1 200 OK");
        }
      }
      assertThat(taken).isEqualTo(sent);
    } finally {
      for (Socket socket : sockets) {
        socket.close();
      }
    }
  }

  @Test
  void body_inPieces_andInChunks_isReadWhole() throws Exception {
    try (SimHttpServer server = server(SimHttpServerTest::echo);
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
      for (String piece : "POST /a HTTP/1.1\r\nContent-Length: 11\r\n\r\nhello world".split("(?<=[ :lr])")) {
        write(socket, piece);
      }
      assertThat(answer(socket)).isEqualTo("/a hello world");
      for (String piece : "POST /b HTTP/1.1\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n".split(" ")) {
        write(socket, piece + (piece.endsWith("\n") ? "" : " "));
      }
      assertThat(head(socket)).startsWith("HTTP/1.1 100 Continue");
      write(socket, "6;x=y\r\nhello \r\n5\r\nwor");
      write(socket, "ld\r\n0\r\nSum: 1\r\n\r\n");
      assertThat(answer(socket)).isEqualTo("/b hello world");
    }
  }

  @Test
  void requests_sentBeforeTheAnswer_areAnsweredInTurn() throws Exception {
    try (SimHttpServer server = server(SimHttpServerTest::echo);
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
      StringBuilder all = new StringBuilder();
      for (int i = 0; i < 50; i++) {
        all.append("POST /").append(i).append(" HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi");
      }
      write(socket, all.toString());
      for (int i = 0; i < 50; i++) {
        assertThat(answer(socket)).isEqualTo("/" + i + " hi");
      }
    }
  }

  @Test
  void answer_thatIsNotRead_waits_andComesWhole() throws Exception {
    String part = "x".repeat(100_000);
    CountDownLatch written = new CountDownLatch(1);
    try (SimHttpServer server = server(
        exchange -> {
          exchange.start(200, "text/plain");
          for (int i = 0; i < 200; i++) {
            exchange.send(part);
          }
          exchange.end();
          written.countDown();
        });
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
      write(socket, "GET / HTTP/1.0\r\n\r\n");
      assertThat(head(socket)).startsWith("HTTP/1.1 200 OK");
      assertThat(written.getCount()).as("no buffers hold so much").isEqualTo(1);
      byte[] body = socket.getInputStream().readAllBytes();
      assertThat(body).hasSize(200 * (part.length() + 9) + 5);
      await(written);
    }
  }

  @Test
  void whatIsNoRequest_isRefusedInWords_andItsConnectionClosed() throws Exception {
    Map<String, String> refused = Map.of(
        "nonsense\r\n", "HTTP/1.1 400 Bad Request",
        "GET / HTTP/1.1\r\nno header\r\n", "HTTP/1.1 400 Bad Request",
        "POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", "HTTP/1.1 413 Content Too Large",
        "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", "HTTP/1.1 400 Bad Request",
        "GET /" + "a".repeat(70_000), "HTTP/1.1 431 Request Header Fields Too Large");
    try (SimHttpServer server = server(SimHttpServerTest::echo)) {
      for (Map.Entry<String, String> each : refused.entrySet()) {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
          write(socket, each.getKey());
          assertThat(head(socket)).startsWith(each.getValue()).contains("connection: close");
        }
      }
    }
  }

  @Test
  void client_thatLeaves_cancelsItsRequest() throws Exception {
    CountDownLatch cancelled = new CountDownLatch(1);
    try (SimHttpServer server = server(
        exchange -> {
          exchange.onCancelled(cancelled::countDown);
          firstArrived.countDown();
          await(cancelled);
        });
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
      write(socket, "GET / HTTP/1.1\r\n\r\n");
      await(firstArrived);
      socket.shutdownOutput();
      await(cancelled);
    }
  }

  @Test
  void connection_isClosedWhenIdle_notWhileItIsAnswered() throws Exception {
    CountDownLatch slow = new CountDownLatch(1);
    SimHttpLimits limits = new SimHttpLimits(1 << 20, Duration.ofMillis(200));
    try (SimHttpServer server = new SimHttpServer(
        new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), limits,
        exchange -> {
          await(slow);
          exchange.reply(200, "text/plain", new byte[0]);
        });
        Socket idle = new Socket(InetAddress.getLoopbackAddress(), server.port());
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
      write(socket, "GET / HTTP/1.1\r\n\r\n");
      assertThat(idle.getInputStream().read()).isEqualTo(-1);
      slow.countDown();
      assertThat(head(socket)).startsWith("HTTP/1.1 200 OK");
      assertThat(socket.getInputStream().read()).isEqualTo(-1);
    }
  }

  @Test
  void refusing_listensNoMore_untilItListensAgain() throws Exception {
    try (SimHttpServer server = server(SimHttpServerTest::echo);
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
      write(socket, "GET /accepted HTTP/1.1\r\n\r\n");
      assertThat(answer(socket)).isEqualTo("/accepted ");
      server.setRefusing(true);
      awaitRefusal(server);
      write(socket, "GET /open HTTP/1.1\r\n\r\n");
      assertThat(answer(socket)).isEqualTo("/open ");
      server.setRefusing(false);
      try (Socket again = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
        write(again, "GET /again HTTP/1.1\r\n\r\n");
        assertThat(answer(again)).isEqualTo("/again ");
      }
    }
  }

  @Test
  void closed_hasNoConnections_andListensNoMore() throws Exception {
    SimHttpServer server = server(SimHttpServerTest::echo);
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
      write(socket, "GET / HTTP/1.1\r\n\r\n");
      assertThat(answer(socket)).isEqualTo("/ ");
      server.close();
      assertThat(socket.getInputStream().read()).isEqualTo(-1);
      server.setRefusing(false);
      awaitRefusal(server);
    }
  }

  @Test
  void reset_isOne() throws Exception {
    try (SimHttpServer server = server(
        exchange -> {
          exchange.start(200, "text/plain");
          exchange.reset();
        });
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
      write(socket, "GET / HTTP/1.1\r\n\r\n");
      assertThatThrownBy(() -> socket.getInputStream().readAllBytes()).hasMessageContaining("reset");
    }
  }

  /** A process that another test starts holds all sockets of this one for a moment. */
  private static void awaitRefusal(SimHttpServer server) {
    Await.await("it listens no more", () -> {
      try (Socket taken = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
        return !taken.isConnected();
      } catch (ConnectException refused) {
        return true;
      } catch (IOException other) {
        throw new UncheckedIOException(other);
      }
    });
  }

  private static void echo(SimHttpExchange exchange) throws IOException {
    byte[] text = (exchange.path() + " " + new String(exchange.body(), US_ASCII)).getBytes(US_ASCII);
    exchange.reply(200, "text/plain", text);
  }

  private static void write(Socket socket, String text) throws IOException {
    socket.setSoTimeout(SECONDS * 1000);
    socket.getOutputStream().write(text.getBytes(US_ASCII));
  }

  private static String head(Socket socket) throws IOException {
    StringBuilder head = new StringBuilder();
    while (head.indexOf("\r\n\r\n") < 0) {
      int next = socket.getInputStream().read();
      assertThat(next).as("after %s", head).isNotNegative();
      head.append((char) next);
    }
    return head.toString();
  }

  private static String answer(Socket socket) throws IOException {
    Matcher length = Pattern.compile("content-length: (\\d+)").matcher(head(socket));
    assertThat(length.find()).isTrue();
    return new String(socket.getInputStream().readNBytes(Integer.parseInt(length.group(1))), US_ASCII);
  }

  private SimHttpServer server() throws IOException {
    return server(this::handle);
  }

  private static SimHttpServer server(SimHttpHandler handler) throws IOException {
    return new SimHttpServer(
        new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
        new SimHttpLimits(1 << 20, Duration.ofSeconds(SECONDS)), handler);
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
