package io.kvasir.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvasir.http.HttpCallException.Kind;
import io.kvasir.http.HttpCalls.Reply;
import io.kvasir.http.HttpCalls.Request;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

/** Calls over real sockets, to a server that does what a test says with each connection. */
@Isolated("looks for threads")
final class HttpCallsTest {
  private static final Duration LONG = Duration.ofSeconds(60);
  private static final Duration SHORT = Duration.ofMillis(200);

  private final ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
  private final URI uri = URI.create("http://127.0.0.1:" + server.getLocalPort() + "/x");
  private final HttpCalls calls = new HttpCalls();
  private final BlockingQueue<String> requests = new LinkedBlockingQueue<>();
  private final CountDownLatch connectionEnded = new CountDownLatch(1);
  private final List<Socket> sockets = new CopyOnWriteArrayList<>();

  HttpCallsTest() throws IOException {}

  @AfterEach
  void close() throws IOException {
    calls.close();
    server.close();
    for (Socket socket : sockets) {
      socket.close();
    }
  }

  /** Answers every connection's first request with these bytes, and waits for the client to close. */
  private void answer(String bytes) {
    Thread.ofVirtual().start(() -> {
      try {
        while (true) {
          Socket socket = server.accept();
          sockets.add(socket);
          Thread.ofVirtual().start(() -> exchange(socket, bytes));
        }
      } catch (IOException closed) {
        requests.add("");
      }
    });
  }

  private void exchange(Socket socket, String bytes) {
    try (socket) {
      InputStream in = socket.getInputStream();
      BufferedReader lines = new BufferedReader(new InputStreamReader(in, StandardCharsets.US_ASCII));
      StringBuilder request = new StringBuilder();
      int length = 0;
      for (String line = lines.readLine(); line != null && !line.isEmpty(); line = lines.readLine()) {
        request.append(line).append('\n');
        if (line.toLowerCase(Locale.ROOT).startsWith("content-length:")) {
          length = Integer.parseInt(line.substring(line.indexOf(':') + 1).strip());
        }
      }
      for (int i = 0; i < length; i++) {
        request.append((char) lines.read());
      }
      requests.add(request.toString());
      OutputStream out = socket.getOutputStream();
      out.write(bytes.getBytes(StandardCharsets.UTF_8));
      out.flush();
      lines.read();
    } catch (IOException broken) {
      requests.add("");
    } finally {
      connectionEnded.countDown();
    }
  }

  private static String response(int status, String body) {
    return "HTTP/1.1 " + status + " Whatever\r\nContent-Length: " + body.getBytes(StandardCharsets.UTF_8).length
        + "\r\nX-Hint: there\r\nConnection: close\r\n\r\n" + body;
  }

  private void assertFails(Request request, Kind kind, String message) {
    assertThatThrownBy(() -> calls.send(request))
        .isInstanceOfSatisfying(
            HttpCallException.class, failed -> assertThat(failed.kind()).as(failed.getMessage()).isEqualTo(kind))
        .hasMessageContaining(uri.toString())
        .hasMessageContaining(message);
    assertThatThrownBy(() -> calls.sendAsync(request).join())
        .isInstanceOf(CompletionException.class)
        .cause()
        .isInstanceOfSatisfying(HttpCallException.class, failed -> assertThat(failed.kind()).isEqualTo(kind));
  }

  @Test
  void reply_hasStatusHeadersAndJson() throws Exception {
    answer(response(200, "{\"a\":1}"));
    Reply reply = calls.send(Request.get(uri, LONG));

    assertThat(reply.status()).isEqualTo(200);
    assertThat(reply.header("x-hint")).contains("there");
    assertThat(reply.header("x-other")).isEmpty();
    assertThat(reply.body()).asString().isEqualTo("{\"a\":1}");
    assertThat(reply.requireStatus(200).jsonObject().path("a").asInt()).isEqualTo(1);
    assertThat(calls.sendAsync(Request.get(uri, LONG)).join().json().path("a").asInt()).isEqualTo(1);
  }

  @Test
  void request_carriesMethodTokenHeadersAndJson() throws Exception {
    answer(response(200, "{}"));
    byte[] body = "{\"q\":2}".getBytes(StandardCharsets.UTF_8);
    calls.send(Request.post(uri, body, LONG).withBearer("secret").withHeader("X-Extra", "1"));

    assertThat(requests.take())
        .startsWith("POST /x HTTP/1.1\n")
        .contains("Authorization: Bearer secret\n", "X-Extra: 1\n", "Content-Type: application/json\n")
        .endsWith("{\"q\":2}");
    calls.send(Request.of("DELETE", uri, LONG).withBearer(null));
    assertThat(requests.take()).startsWith("DELETE /x HTTP/1.1\n").doesNotContain("Authorization", "Upgrade");
  }

  @Test
  void anotherStatus_isAReply_untilOneIsRequired() throws Exception {
    answer(response(503, "{\"error\":{}}"));
    Reply reply = calls.send(Request.get(uri, LONG));

    assertThat(reply.jsonObject().has("error")).isTrue();
    assertThatThrownBy(() -> reply.requireStatus(200))
        .isInstanceOfSatisfying(HttpCallException.class, failed -> assertThat(failed.kind()).isEqualTo(Kind.STATUS))
        .hasMessage(uri + " answered 503");
  }

  @Test
  void bodyThatIsNoJson_isOne_onlyWhenItIsRead() throws Exception {
    answer(response(200, "{\"a\":"));
    Reply half = calls.send(Request.get(uri, LONG));
    assertThatThrownBy(half::json)
        .isInstanceOfSatisfying(HttpCallException.class, failed -> assertThat(failed.kind()).isEqualTo(Kind.NOT_JSON))
        .hasMessageContaining(uri.toString());
  }

  @Test
  void jsonThatIsNoObject_andEmptyBody() throws Exception {
    answer(response(200, ""));
    Reply empty = calls.send(Request.get(uri, LONG));
    assertThat(empty.json().isMissingNode()).isTrue();
    assertThatThrownBy(empty::jsonObject)
        .isInstanceOfSatisfying(HttpCallException.class, failed -> assertThat(failed.kind()).isEqualTo(Kind.NOT_JSON));
  }

  @Test
  void serverThatIsSilent_timesOut() {
    answer("");
    assertFails(Request.get(uri, SHORT), Kind.TIMEOUT, "did not answer within 200 ms");
  }

  @Test
  void serverThatSendsTheHeadAndThenStalls_timesOut_andTheConnectionIsClosed() throws Exception {
    answer("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{");
    assertFails(Request.get(uri, SHORT), Kind.TIMEOUT, "did not answer within 200 ms");
    connectionEnded.await();
  }

  @Test
  void serverThatSendsMoreThanTheLimit_isCutOff() throws Exception {
    answer(response(200, "x".repeat(100_000)));
    assertFails(Request.get(uri, LONG).withMaxBytes(1000), Kind.TOO_LARGE, "more than 1000 bytes");
    connectionEnded.await();
    assertThat(calls.send(Request.get(uri, LONG).withMaxBytes(100_000)).body()).hasSize(100_000);
  }

  @Test
  void serverThatNeverEndsItsBody_isCutOffAtTheLimit() {
    answer("HTTP/1.1 200 OK\r\n\r\n" + "x".repeat(2000));
    assertFails(Request.get(uri, LONG).withMaxBytes(1000), Kind.TOO_LARGE, "more than 1000 bytes");
  }

  @Test
  void connectionThatBreaks_andOneThatIsRefused_areInputOutputFailures() throws Exception {
    try (ServerSocket breaking = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
      URI broken = URI.create("http://127.0.0.1:" + breaking.getLocalPort());
      Thread.ofVirtual().start(() -> {
        try (Socket socket = breaking.accept()) {
          socket.getInputStream().read();
          String half = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{";
          socket.getOutputStream().write(half.getBytes(StandardCharsets.UTF_8));
        } catch (IOException closed) {
          requests.add("");
        }
      });
      assertThatThrownBy(() -> calls.send(Request.get(broken, LONG)))
          .isInstanceOfSatisfying(HttpCallException.class, failed -> assertThat(failed.kind()).isEqualTo(Kind.IO));
    }
    server.close();
    assertFails(Request.get(uri, LONG), Kind.IO, "takes no connection");
  }

  @Test
  void answerThatIsNoHttp_isAnInputOutputFailure() {
    answer("SSH-2.0-OpenSSH_9.9\r\n\r\n");
    assertFails(Request.get(uri, LONG), Kind.IO, "");
  }

  @Test
  void cancelledCall_closesItsConnection() throws Exception {
    answer("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{");
    CompletableFuture<Reply> reply = calls.sendAsync(Request.get(uri, LONG));
    requests.take();
    reply.cancel(true);
    connectionEnded.await();
  }

  @Test
  void interruptedThread_givesTheCallUp() throws Exception {
    answer("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{");
    CompletableFuture<Throwable> outcome = new CompletableFuture<>();
    Thread caller = Thread.ofVirtual().start(() -> {
      try {
        calls.send(Request.get(uri, LONG));
      } catch (HttpCallException | InterruptedException given) {
        outcome.complete(given);
      }
    });
    requests.take();
    caller.interrupt();
    assertThat(outcome.join()).isInstanceOf(InterruptedException.class);
    connectionEnded.await();
  }

  @Test
  void closedClient_endsCallsInProgress() throws Exception {
    answer("");
    CompletableFuture<Reply> reply = calls.sendAsync(Request.get(uri, LONG));
    requests.take();
    calls.close();
    assertThatThrownBy(reply::join).hasCauseInstanceOf(HttpCallException.class);
  }

  @Test
  void clientWithoutCalls_hasNoThread() {
    Set<Thread> before = selectors();
    try (HttpCalls none = new HttpCalls()) {
      assertThat(before).containsAll(selectors());

      answer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
      none.sendAsync(Request.get(uri, LONG)).join();
      assertThat(selectors()).anyMatch(thread -> !before.contains(thread));
    }
  }

  @Test
  void clientThatWasClosedBeforeItsFirstCall_failsIt() {
    calls.close();
    assertFails(Request.get(uri, LONG), Kind.IO, "");
  }

  private static Set<Thread> selectors() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.getName().contains("SelectorManager"))
        .collect(Collectors.toSet());
  }

  @Test
  void openedBody_isReadBeyondTheDeadline() throws Exception {
    answer("HTTP/1.1 200 OK\r\n\r\nfirst\n");
    HttpResponse<InputStream> response = calls.open(Request.get(uri, LONG).withMaxBytes(1));
    try (BufferedReader lines = new BufferedReader(new InputStreamReader(response.body(), StandardCharsets.UTF_8))) {
      assertThat(lines.readLine()).isEqualTo("first");
    }
    connectionEnded.await();
  }

  @Test
  void openedBody_hasADeadlineForItsHead() {
    answer("");
    assertThatThrownBy(() -> calls.open(Request.get(uri, SHORT)))
        .isInstanceOfSatisfying(HttpCallException.class, failed -> assertThat(failed.kind()).isEqualTo(Kind.TIMEOUT));
  }
}
