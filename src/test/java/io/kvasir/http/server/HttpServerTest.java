package io.kvasir.http.server;

import static io.kvasir.Await.await;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvasir.http.ByteSink;
import io.kvasir.http.Headers;
import io.kvasir.http.StreamingBody;
import io.kvasir.http.TestTls;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.ManualClock;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import org.apache.pekko.Done;
import org.apache.pekko.http.javadsl.model.HttpRequest;
import org.apache.pekko.stream.javadsl.Flow;
import org.apache.pekko.stream.javadsl.Sink;
import org.apache.pekko.stream.javadsl.Source;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
final class HttpServerTest extends HttpServerFixture {
  private static final Duration LONG = Duration.ofSeconds(60);
  private static final Duration SHORT = Duration.ofMillis(200);
  private static final String CHUNKED = "POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";

  // Requests and answers.

  @Test
  void request_getsAnswered() throws Exception {
    String answer = client(serve(HttpServerFixture::echo)).send(get("/v1/models?limit=3", "")).answer();
    assertThat(answer).startsWith("HTTP/1.1 200 OK\r\n").contains("Server: kvasir\r\n", "Date: ");
    assertThat(answer).contains("Content-Type: text/plain; charset=utf-8\r\n").endsWith("GET /v1/models?limit=3 ");
  }

  @Test
  void requestHeaders_keepOrderAndCase() throws Exception {
    CompletableFuture<Headers> seen = new CompletableFuture<>();
    HttpServer server =
        serve(
            exchange -> {
              seen.complete(exchange.headers());
              return text(200, "");
            });
    client(server)
        .send(
            "POST / HTTP/1.1\r\nHost: h:1\r\nX-Zebra: 1\r\nuser-AGENT: me/1\r\nX-Zebra: 2, 3\r\n"
                + "Authorization: Bearer a b\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
        .answer();
    assertThat(seen.get().toString().lines())
        .containsExactly(
            "Host: h:1", "X-Zebra: 1", "user-AGENT: me/1", "X-Zebra: 2, 3", "Authorization: Bearer a b",
            "Content-Type: application/json", "Content-Length: 2");
  }

  @Test
  void answerHeaders_arePassedOnExceptFraming() throws Exception {
    HttpServer server =
        serve(
            exchange ->
                new Response.Buffered(
                    299,
                    Headers.of(
                        "x-Request-id", "7", "Content-Length", "77", "Transfer-Encoding", "chunked", "Date", "now",
                        "Connection", "close", "Content-Type", "application/json; charset=utf-8", "X-Two", "a",
                        "X-Two", "b"),
                    "{}".getBytes(UTF_8)));
    String answer = client(server).send(get("/", "")).answer();
    assertThat(answer).startsWith("HTTP/1.1 299 ").endsWith("{}");
    assertThat(answer).contains("x-Request-id: 7\r\nX-Two: a\r\nX-Two: b\r\n", "Content-Length: 2\r\n");
    assertThat(answer).contains("Content-Type: application/json; charset=utf-8\r\n");
    assertThat(answer).doesNotContain("77", "chunked", "now", "close");
  }

  @Test
  void oddTargets_arePassedOnAsTheyCame() throws Exception {
    HttpServer server = serve(HttpServerFixture::echo);
    for (String target : List.of("/a%2Fb//c/../d?x=%7B%7D&y=[1]", "/?q=a|b", "/%F0%9F%90%A6")) {
      assertThat(client(server).send(get(target, "")).answer()).endsWith("GET " + target + " ");
    }
  }

  @Test
  void keptConnection_servesManyRequests() throws Exception {
    RawClient client = client(serve(HttpServerFixture::echo));
    for (int i = 0; i < 50; i++) {
      assertThat(client.send(post("/" + i, "body " + i)).answer()).endsWith("POST /" + i + " body " + i);
    }
  }

  @Test
  void pipelinedRequests_areAnsweredInOrder() throws Exception {
    RawClient client = client(serve(HttpServerFixture::echo));
    StringBuilder all = new StringBuilder();
    for (int i = 0; i < 20; i++) {
      all.append(i % 2 == 0 ? post("/" + i, "x".repeat(5000)) : get("/" + i, ""));
    }
    client.send(all.toString());
    for (int i = 0; i < 20; i++) {
      assertThat(client.answer()).contains("/" + i + " ");
    }
  }

  @Test
  void pipelinedRequest_waitsForStreamedAnswer() throws Exception {
    HttpServer server =
        serve(exchange -> exchange.path().equals("/s") ? stream(body -> write(body, "one")) : echo(exchange));
    RawClient client = client(server).send(get("/s", "") + get("/next", ""));
    assertThat(client.readTo("0\r\n\r\n")).endsWith("\r\n\r\n3\r\none\r\n0\r\n\r\n");
    assertThat(client.answer()).endsWith("GET /next ");
  }

  @Test
  void connectionClose_isHonoured() throws Exception {
    String answer = client(serve(HttpServerFixture::echo)).send(get("/", "Connection: close\r\n")).rest();
    assertThat(answer).contains("Connection: close\r\n").endsWith("GET / ");
  }

  @Test
  void http10_isAnsweredAndClosed() throws Exception {
    HttpServer server = serve(HttpServerFixture::echo);
    assertThat(client(server).send("GET /old HTTP/1.0\r\n\r\n").rest()).endsWith("GET /old ");
  }

  @Test
  void http10Stream_endsWithTheConnection() throws Exception {
    HttpServer server =
        serve(
            exchange ->
                stream(
                    body -> {
                      write(body, "data: 1\n\n");
                      write(body, "data: 2\n\n");
                    }));
    String answer = client(server).send("GET / HTTP/1.0\r\nHost: x\r\n\r\n").rest();
    assertThat(answer).doesNotContain("chunked").endsWith("\r\n\r\ndata: 1\n\ndata: 2\n\n");
  }

  @Test
  void stream_waitsForItsHead_alsoWhenTheConnectionTakesNoFurtherRequest() throws Exception {
    CompletableFuture<Thread> exchange = new CompletableFuture<>();
    CompletableFuture<Done> handedIn = new CompletableFuture<>();
    CompletableFuture<Done> mayLeave = new CompletableFuture<>();
    HttpHandler handler =
        asked -> {
          exchange.complete(Thread.currentThread());
          return stream(body -> write(body, "data: 1\n\n"));
        };
    // The end that hands the answer in is done with that, as after a last request; the head leaves some time later.
    HttpServer server =
        HttpServer.start(
            system(),
            settings(),
            handler,
            loop,
            new Metrics(new PrometheusRegistry()),
            NanoClock.SYSTEM,
            connection ->
                Flow.of(HttpRequest.class)
                    .mapAsync(
                        1,
                        request ->
                            Source.single(request)
                                .concat(Source.<HttpRequest>never())
                                .watchTermination((none, done) -> done.thenAccept(handedIn::complete))
                                .via(new ExchangeStage(connection, handler))
                                .runWith(Sink.head(), system()))
                    .mapAsync(1, answer -> mayLeave.thenApply(done -> answer)));
    open.add(server);
    RawClient client = client(server).send(get("/", ""));
    handedIn.get(60, TimeUnit.SECONDS);
    Thread waiting = exchange.get();
    await(() -> waiting.getState() == Thread.State.WAITING || waiting.getState() == Thread.State.TERMINATED);
    mayLeave.complete(Done.getInstance());
    assertThat(client.readTo("0\r\n\r\n")).startsWith("HTTP/1.1 200 ").endsWith("9\r\ndata: 1\n\n\r\n0\r\n\r\n");
  }

  @Test
  void head_hasNoBody_soThatItIsAbandoned() throws Exception {
    CountDownLatch abandoned = new CountDownLatch(1);
    StreamingBody never = new StreamingBody() {
      @Override
      public void run(ByteSink client) {
        throw new AssertionError("there is no body in the answer to HEAD");
      }

      @Override
      public void abandon() {
        abandoned.countDown();
      }
    };
    HttpServer server =
        serve(
            exchange ->
                exchange.path().equals("/s")
                    ? new Response.Streaming(200, Headers.of("Content-Type", "text/event-stream"), never)
                    : text(200, "12345"));
    RawClient client = client(server);
    assertThat(client.send("HEAD / HTTP/1.1\r\nHost: x\r\n\r\n").head()).contains("Content-Length: 5\r\n");
    client.send("HEAD /s HTTP/1.1\r\nHost: x\r\n\r\n").head();
    assertThat(abandoned.await(60, TimeUnit.SECONDS)).isTrue();
    assertThat(client.send(get("/", "")).answer()).endsWith("12345");
  }

  @Test
  void noContent_hasNoBody() throws Exception {
    RawClient client = client(serve(exchange -> new Response.Buffered(204, Headers.EMPTY, new byte[0])));
    assertThat(client.send(get("/", "") + get("/", "")).head()).startsWith("HTTP/1.1 204 ");
    assertThat(client.head()).startsWith("HTTP/1.1 204 ");
  }

  @Test
  void expectContinue_isGivenBeforeTheBody() throws Exception {
    RawClient client = client(serve(HttpServerFixture::echo));
    client.send("POST /e HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n");
    assertThat(client.head()).startsWith("HTTP/1.1 100 ");
    assertThat(client.send("body").answer()).endsWith("POST /e body");
    assertThat(client.send(get("/after", "")).answer()).endsWith("GET /after ");
  }

  @Test
  void chunkedBody_arrivesWithoutItsFraming() throws Exception {
    RawClient client = client(serve(HttpServerFixture::echo));
    client.send(CHUNKED + "5;x=y\r\nhello\r\n");
    client.send("6\r\n world\r\n0\r\nTrailer: t\r\n\r\n");
    assertThat(client.answer()).endsWith("POST /c hello world");
    assertThat(client.send(get("/after", "")).answer()).endsWith("GET /after ");
  }

  @Test
  void largeBody_arrivesWhole() throws Exception {
    CompletableFuture<byte[]> seen = new CompletableFuture<>();
    HttpServer server =
        serve(
            exchange -> {
              seen.complete(exchange.body());
              return text(200, "");
            });
    String body = "0123456789abcdef".repeat(200_000);
    client(server).send(post("/", body)).answer();
    assertThat(new String(seen.get(), UTF_8)).isEqualTo(body);
  }

  @Test
  void largeAnswer_arrivesWhole() throws Exception {
    String body = "0123456789abcdef".repeat(200_000);
    assertThat(client(serve(exchange -> text(200, body))).send(get("/", "")).answer()).endsWith("\r\n\r\n" + body);
  }

  // Streams.

  @Test
  void streamedBytes_leaveAsTheyAreWritten() throws Exception {
    BlockingQueue<String> events = new LinkedBlockingQueue<>();
    HttpServer server =
        serve(
            exchange ->
                stream(
                    body -> {
                      for (String event = events.take(); !event.isEmpty(); event = events.take()) {
                        write(body, event);
                      }
                    }));
    RawClient client = client(server).send(get("/", ""));
    assertThat(client.head()).contains("Transfer-Encoding: chunked\r\n", "Content-Type: text/event-stream\r\n");
    for (String event : List.of("data: a\n\n", "x".repeat(300), "y".repeat(60_000), "z")) {
      events.add(event);
      String chunk = Integer.toHexString(event.length()) + "\r\n" + event + "\r\n";
      assertThat(client.readTo(event + "\r\n")).isEqualTo(chunk);
    }
    events.add("");
    assertThat(client.readTo("0\r\n\r\n")).isEqualTo("0\r\n\r\n");
    assertThat(client.send(get("/", "")).head()).startsWith("HTTP/1.1 200 OK");
    events.add("");
  }

  @Test
  void relayThatFails_truncatesTheBody() throws Exception {
    HttpServer server =
        serve(
            exchange ->
                stream(
                    body -> {
                      write(body, "half");
                      throw new IllegalStateException("the engine died");
                    }));
    assertThat(client(server).send(get("/", "")).rest()).endsWith("\r\n\r\n4\r\nhalf\r\n");
  }

  @Test
  void slowClient_holdsTheRelayBack() throws Exception {
    CountDownLatch ended = new CountDownLatch(1);
    long[] written = new long[1];
    HttpServer server =
        serve(
            exchange ->
                stream(
                    body -> {
                      byte[] piece = new byte[64 << 10];
                      try {
                        while (true) {
                          body.write(piece, 0, piece.length);
                          written[0] += piece.length;
                        }
                      } finally {
                        ended.countDown();
                      }
                    }),
            settings().withTimeouts(LONG, LONG, LONG, Duration.ofMillis(500)));
    RawClient client = client(server).send(get("/", ""));
    client.head();
    // It reads nothing more: the write's time limit ends it, after what the sockets' buffers hold.
    assertThat(ended.await(60, TimeUnit.SECONDS)).isTrue();
    assertThat(written[0]).isLessThan(64 << 20);
  }

  // Clients that leave.

  @Test
  void clientThatLeavesBeforeTheAnswer_isNoticed() throws Exception {
    assertLeavingIsNoticed(RawClient::close);
  }

  @Test
  void clientThatResets_isNoticed() throws Exception {
    assertLeavingIsNoticed(
        client -> {
          client.socket().setSoLinger(true, 0);
          client.close();
        });
  }

  @Test
  void clientThatHalfCloses_isTakenAsGone() throws Exception {
    assertLeavingIsNoticed(client -> client.socket().shutdownOutput());
  }

  @Test
  void clientThatLeavesDuringAStream_isNoticed() throws Exception {
    CountDownLatch gone = new CountDownLatch(1);
    CompletableFuture<Exception> relay = new CompletableFuture<>();
    HttpServer server =
        serve(
            exchange -> {
              exchange.cancellation().onCancelled(gone::countDown);
              return stream(
                  body -> {
                    try {
                      write(body, "first");
                      gone.await();
                      while (true) {
                        write(body, "more");
                      }
                    } catch (Exception e) {
                      relay.complete(e);
                      throw e;
                    }
                  });
            });
    RawClient client = client(server).send(get("/", ""));
    client.readTo("first");
    client.close();
    assertThat(relay.get(60, TimeUnit.SECONDS)).isInstanceOf(IOException.class);
  }

  @Test
  void relay_runsEvenWhenTheClientHasLeft() throws Exception {
    CountDownLatch begun = new CountDownLatch(1);
    CompletableFuture<Boolean> refused = new CompletableFuture<>();
    HttpServer server =
        serve(
            exchange -> {
              CountDownLatch gone = new CountDownLatch(1);
              exchange.cancellation().onCancelled(gone::countDown);
              begun.countDown();
              gone.await();
              return stream(
                  body -> {
                    try {
                      write(body, "x");
                      refused.complete(false);
                    } catch (IOException e) {
                      refused.complete(true);
                    }
                  });
            });
    RawClient client = client(server).send(get("/", ""));
    begun.await();
    client.close();
    assertThat(refused.get(60, TimeUnit.SECONDS)).isTrue();
  }

  @Test
  void clientThatLeavesAfterTheAnswer_isNobodysBusiness() throws Exception {
    CountDownLatch gone = new CountDownLatch(1);
    HttpServer server =
        serve(
            exchange -> {
              exchange.cancellation().onCancelled(gone::countDown);
              return text(200, "done");
            });
    RawClient client = client(server);
    client.send(get("/", "")).answer();
    client.close();
    await(() -> server.openConnections() == 0);
    assertThat(gone.getCount()).isEqualTo(1);
  }

  // Limits.

  @Test
  void announcedBodyBeyondTheLimit_is413() throws Exception {
    RawClient client = client(serve(HttpServerFixture::echo, settings().withMaxBodyBytes(10)));
    client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Length: 50000000\r\n\r\nsome of it");
    assertThat(client.rest()).startsWith("HTTP/1.1 413 ").contains("limit of 10 bytes");
  }

  @Test
  void smallBodyBeyondTheLimit_is413() throws Exception {
    RawClient client = client(serve(HttpServerFixture::echo, settings().withMaxBodyBytes(10)));
    assertThat(client.send(post("/", "12345678901")).answer()).startsWith("HTTP/1.1 413 ");
    assertThat(client(serve(HttpServerFixture::echo, settings().withMaxBodyBytes(10))).send(post("/", "1234567890"))
        .answer()).endsWith("1234567890");
  }

  @Test
  void chunkedBodyBeyondTheLimit_is413() throws Exception {
    RawClient client = client(serve(HttpServerFixture::echo, settings().withMaxBodyBytes(10)));
    client.send(CHUNKED + "6\r\n123456\r\n6\r\n123456\r\n0\r\n\r\n");
    assertThat(client.rest()).startsWith("HTTP/1.1 413 ");
  }

  @Test
  void bodyThatDoesNotCome_is408() throws Exception {
    RawClient client =
        client(serve(HttpServerFixture::echo, settings().withTimeouts(LONG, SHORT, LONG, LONG)));
    client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Length: 9\r\n\r\nhalf");
    assertThat(client.rest()).startsWith("HTTP/1.1 408 ");
  }

  @Test
  void headThatDoesNotCome_closes() throws Exception {
    RawClient client = client(serve(HttpServerFixture::echo, settings().withTimeouts(SHORT, LONG, LONG, LONG)));
    assertThat(client.send("GET / HTTP/1.1\r\nHo").rest()).startsWith("HTTP/1.1 408 ").contains("head");
    RawClient silent = client(serve(HttpServerFixture::echo, settings().withTimeouts(SHORT, LONG, LONG, LONG)));
    assertThat(silent.rest()).isEmpty();
  }

  @Test
  void dribbledHead_isNotWaitedForForEver() throws Exception {
    RawClient client = client(serve(HttpServerFixture::echo, settings().withTimeouts(SHORT, LONG, LONG, LONG)));
    client.send("GET / HTTP/1.1\r\nHost: x\r\n");
    assertThatThrownBy(
            () -> {
              while (true) {
                client.send("X: y\r\n");
                Thread.sleep(20);
              }
            })
        .isInstanceOf(SocketException.class);
  }

  @Test
  void idleConnection_closes() throws Exception {
    RawClient client = client(serve(HttpServerFixture::echo, settings().withTimeouts(LONG, LONG, SHORT, LONG)));
    client.send(get("/", "")).answer();
    assertThat(client.rest()).isEmpty();
  }

  @Test
  void waitingForTheHandler_hasNoTimeLimit() throws Exception {
    ManualClock clock = new ManualClock();
    HttpServer server =
        serve(
            exchange -> {
              clock.advance(SHORT.multipliedBy(4));
              long before = clock.readings();
              await(() -> clock.readings() >= before + 2);
              return text(200, "late");
            },
            settings().withTimeouts(SHORT, SHORT, SHORT, SHORT),
            clock);
    assertThat(client(server).send(get("/", "")).answer()).endsWith("late");
  }

  @Test
  void tooManyConnections_areRefusedInWords() throws Exception {
    ManualClock clock = new ManualClock();
    HttpServer server = serve(HttpServerFixture::echo, settings().withMaxConnections(2), clock);
    RawClient first = client(server);
    first.send(get("/", "")).answer();
    client(server).send(get("/", "")).answer();
    assertThat(client(server).rest()).startsWith("HTTP/1.1 503 ").contains("limit is 2");
    first.close();
    await(() -> server.openConnections() < 2);
    assertThat(client(server).send(get("/again", "")).answer()).endsWith("GET /again ");
  }

  @Test
  void hugeHead_isRefused() throws Exception {
    RawClient client = client(serve(HttpServerFixture::echo));
    client.send("GET / HTTP/1.1\r\nHost: x\r\nX-Long: " + "x".repeat(17_000) + "\r\n\r\n");
    assertThat(client.rest()).startsWith("HTTP/1.1 4");
    RawClient many = client(serve(HttpServerFixture::echo));
    many.send("GET / HTTP/1.1\r\nHost: x\r\n" + "X-Many: x\r\n".repeat(200) + "\r\n");
    assertThat(many.rest()).startsWith("HTTP/1.1 4");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "hello, is this the right door?\r\n\r\n",
        "GET / SPDY/9\r\n\r\n",
        CHUNKED + "nonsense\r\n\r\n",
        CHUNKED + "5\r\nhelloo\r\n0\r\n\r\n",
        "\u0016\u0003\u0001 not a handshake \r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
      })
  void nonsense_isRefused(String nonsense) throws Exception {
    HttpServer server = serve(HttpServerFixture::echo);
    assertThat(client(server).send(nonsense).rest()).matches("(?s)HTTP/1.1 [45].*\r\nConnection: close\r\n.*");
    assertThat(client(server).send(get("/", "")).answer()).endsWith("GET / ");
  }

  // Handlers that fail.

  @Test
  void handlerThatThrows_is500() throws Exception {
    HttpServer server =
        serve(
            new HttpHandler() {
              @Override
              public Response handle(Exchange exchange) {
                throw new IllegalStateException("secret");
              }

              @Override
              public Response.Buffered failure(ArrivedRequest request, RequestFailure why) {
                return text(why.status(), request.target() + " failed: " + why.message());
              }
            });
    RawClient client = client(server);
    assertThat(client.send(get("/x", "")).answer())
        .startsWith("HTTP/1.1 500 ")
        .contains("/x failed: ")
        .doesNotContain("secret");
    assertThat(client.send(get("/y", "")).answer()).startsWith("HTTP/1.1 500 ");
  }

  // The listener's life.

  @Test
  void takenPort_isNamed() throws Exception {
    InetSocketAddress taken = serve(HttpServerFixture::echo).address();
    assertThatThrownBy(() -> serve(HttpServerFixture::echo, HttpSettings.at("127.0.0.1", taken.getPort())))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("127.0.0.1:" + taken.getPort());
  }

  @Test
  void ipv6_isServed() throws Exception {
    HttpServer server = serve(HttpServerFixture::echo, HttpSettings.at("::1", 0));
    assertThat(client(server).send(get("/six", "")).answer()).endsWith("GET /six ");
  }

  @Test
  void tls_isSpoken() throws Exception {
    SSLContext tls = TestTls.forHost("localhost").context();
    HttpServer server =
        serve(
            exchange -> exchange.path().equals("/s") ? stream(body -> write(body, "one")) : echo(exchange),
            settings().withTls(new ListenerTls(tls, false)));
    RawClient client =
        new RawClient(tls.getSocketFactory().createSocket(server.address().getAddress(), server.address().getPort()));
    open.add(client);
    assertThat(client.send(post("/t", "x".repeat(100_000))).answer()).endsWith("POST /t " + "x".repeat(100_000));
    assertThat(client.send(get("/s", "")).readTo("0\r\n\r\n")).endsWith("3\r\none\r\n0\r\n\r\n");
    assertThat(client(server).send(get("/plain", "")).rest()).doesNotContain("HTTP");
  }

  @Test
  void drain_finishesWhatRunsAndClosesTheRest() throws Exception {
    CountDownLatch begun = new CountDownLatch(2);
    CountDownLatch go = new CountDownLatch(1);
    HttpServer server =
        serve(
            exchange -> {
              if (exchange.path().equals("/quick")) {
                return text(200, "quick");
              }
              begun.countDown();
              if (exchange.path().equals("/stream")) {
                return stream(
                    body -> {
                      write(body, "a");
                      go.await();
                      write(body, "b");
                    });
              }
              go.await();
              return text(200, "slow");
            });
    RawClient idle = client(server);
    idle.send(get("/quick", "")).answer();
    RawClient slow = client(server).send(get("/slow", ""));
    RawClient stream = client(server).send(get("/stream", ""));
    stream.readTo("1\r\na\r\n");
    begun.await();
    CompletableFuture<Void> drained = CompletableFuture.runAsync(() -> server.drain(LONG));
    assertThat(idle.rest()).isEmpty();
    await(() -> asked(server).startsWith("HTTP/1.1 503 "));
    assertThat(asked(server)).contains("Connection: close\r\n");
    assertThat(drained).isNotDone();
    go.countDown();
    assertThat(slow.rest()).contains("Connection: close\r\n").endsWith("slow");
    assertThat(stream.rest()).isEqualTo("1\r\nb\r\n0\r\n\r\n");
    drained.get(60, TimeUnit.SECONDS);
    await(() -> !accepts(server));
    await(() -> server.openConnections() == 0);
  }

  @Test
  void drain_cutsWhatOutlivesTheGrace() throws Exception {
    CountDownLatch gone = new CountDownLatch(1);
    HttpServer server =
        serve(
            exchange -> {
              exchange.cancellation().onCancelled(gone::countDown);
              return stream(
                  body -> {
                    write(body, "a");
                    gone.await();
                    throw new IOException("cut");
                  });
            });
    RawClient client = client(server).send(get("/", ""));
    client.readTo("1\r\na\r\n");
    server.drain(SHORT);
    assertThat(client.rest()).isEmpty();
    assertThat(gone.await(60, TimeUnit.SECONDS)).isTrue();
  }

  // Helpers.

  private String asked(HttpServer server) {
    try (RawClient client = client(server)) {
      return client.send(get("/quick", "Connection: close\r\n")).rest();
    } catch (IOException e) {
      return e.toString();
    }
  }

  private interface Leaving {
    void leave(RawClient client) throws IOException;
  }

  private void assertLeavingIsNoticed(Leaving way) throws Exception {
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch gone = new CountDownLatch(1);
    HttpServer server =
        serve(
            exchange -> {
              exchange.cancellation().onCancelled(gone::countDown);
              begun.countDown();
              gone.await();
              return text(200, "");
            });
    RawClient client = client(server).send(post("/", "{}"));
    begun.await();
    way.leave(client);
    assertThat(gone.await(60, TimeUnit.SECONDS)).isTrue();
  }

  private static boolean accepts(HttpServer server) {
    try (Socket socket = new Socket(server.address().getAddress(), server.address().getPort())) {
      return socket.isConnected();
    } catch (IOException e) {
      return false;
    }
  }
}
