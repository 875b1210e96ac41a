package io.kvasir.http.server;

import static io.kvasir.Await.await;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvasir.http.ByteSink;
import io.kvasir.http.Headers;
import io.kvasir.http.StreamingBody;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Exchanges on one connection do not touch each other, however they end. */
@Timeout(60)
final class ExchangeEndTest extends HttpServerFixture {
  private static final Headers EVENTS = Headers.of("Content-Type", "text/event-stream");

  @Test
  void requestBehindAStream_beginsWhenTheStreamHasEnded() throws Exception {
    List<String> events = new CopyOnWriteArrayList<>();
    CountDownLatch streaming = new CountDownLatch(1);
    CountDownLatch go = new CountDownLatch(1);
    HttpServer server =
        serve(
            exchange ->
                switch (exchange.path()) {
                  case "/stream" ->
                    stream(
                        body -> {
                          write(body, "one");
                          streaming.countDown();
                          go.await();
                          events.add("stream ends");
                        });
                  case "/go" -> {
                    go.countDown();
                    yield echo(exchange);
                  }
                  default -> {
                    events.add("next begins");
                    yield echo(exchange);
                  }
                });
    RawClient client = client(server).send(get("/stream", "") + get("/next", ""));
    streaming.await();
    client(server).send(get("/go", "")).answer();
    client.readTo("0\r\n\r\n");
    assertThat(client.answer()).endsWith("GET /next ");
    assertThat(events).containsExactly("stream ends", "next begins");
  }

  @Test
  void clientThatLeavesDuringAPipelinedStream_cancelsThatOne() throws Exception {
    BlockingQueue<String> cancelled = new LinkedBlockingQueue<>();
    CountDownLatch second = new CountDownLatch(1);
    HttpServer server =
        serve(
            exchange -> {
              exchange.cancellation().onCancelled(() -> cancelled.add(exchange.path()));
              return stream(
                  body -> {
                    write(body, exchange.path());
                    if (exchange.path().equals("/2")) {
                      second.countDown();
                      CountDownLatch gone = new CountDownLatch(1);
                      exchange.cancellation().onCancelled(gone::countDown);
                      gone.await();
                    }
                  });
            });
    RawClient client = client(server).send(get("/1", "") + get("/2", ""));
    second.await();
    client.close();
    assertThat(cancelled.poll(60, TimeUnit.SECONDS)).isEqualTo("/2");
    await(() -> server.openConnections() == 0);
    assertThat(cancelled).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(classes = {AssertionError.class, StackOverflowError.class, OutOfMemoryError.class, Exception.class})
  void handlerThatThrows_isAnswered_andTheNextRequestToo(Class<? extends Throwable> kind) throws Exception {
    HttpServer server =
        serve(
            exchange -> {
              if (exchange.path().equals("/throws")) {
                Throwable thrown = kind.getDeclaredConstructor().newInstance();
                if (thrown instanceof Error error) {
                  throw error;
                }
                throw new IOException(thrown);
              }
              return echo(exchange);
            });
    RawClient client = client(server).send(get("/throws", "") + get("/next", ""));
    assertThat(client.answer()).startsWith("HTTP/1.1 500 ");
    assertThat(client.answer()).endsWith("GET /next ");
    await(() -> server.runningExchanges() == 0);
  }

  @Test
  void bodyThatThrows_isCut() throws Exception {
    HttpServer server =
        serve(
            exchange ->
                stream(
                    body -> {
                      write(body, "half");
                      throw new AssertionError("the relay has a bug");
                    }));
    assertThat(client(server).send(get("/", "")).rest()).endsWith("\r\n\r\n4\r\nhalf\r\n");
    await(() -> server.runningExchanges() == 0);
  }

  @Test
  void failureThatThrows_closesTheConnection() throws Exception {
    HttpServer server =
        serve(
            new HttpHandler() {
              @Override
              public Response handle(Exchange exchange) {
                throw new AssertionError("the handler has a bug");
              }

              @Override
              public Response.Buffered failure(ArrivedRequest request, RequestFailure why) {
                throw new AssertionError("and so has this");
              }
            });
    assertThat(client(server).send(get("/", "")).rest()).isEmpty();
    await(() -> server.runningExchanges() == 0);
  }

  @Test
  void headOfAnExchangeThatHasFailed_doesNotReachTheNext() throws Exception {
    CompletableFuture<Exchange> failed = new CompletableFuture<>();
    HttpServer server =
        serve(
            exchange -> {
              if (exchange.path().equals("/fails")) {
                failed.complete(exchange);
                throw new StackOverflowError();
              }
              assertThatThrownBy(() -> failed.join().sendHead(200, EVENTS)).isInstanceOf(IOException.class);
              return echo(exchange);
            });
    RawClient client = client(server);
    assertThat(client.send(get("/fails", "")).answer()).startsWith("HTTP/1.1 500 ");
    assertThat(client.send(get("/next", "")).answer()).startsWith("HTTP/1.1 200 ").endsWith("GET /next ");
  }

  @Test
  void lateWriteOfAnExchangeThatHasEnded_doesNotReachTheNext() throws Exception {
    CompletableFuture<ByteSink> ended = new CompletableFuture<>();
    HttpServer server =
        serve(
            exchange -> {
              if (exchange.path().equals("/stream")) {
                ByteSink early = exchange.sendHead(200, EVENTS);
                ended.complete(early);
                return new Response.Streaming(200, EVENTS, StreamingBody.of(client -> write(client, "one")));
              }
              return stream(
                  body -> {
                    write(body, "two");
                    assertThatThrownBy(() -> write(ended.join(), "late")).isInstanceOf(IOException.class);
                    write(body, "three");
                  });
            });
    RawClient client = client(server).send(get("/stream", ""));
    assertThat(client.readTo("0\r\n\r\n")).endsWith("\r\n\r\n3\r\none\r\n0\r\n\r\n");
    client.send(get("/next", ""));
    assertThat(client.readTo("0\r\n\r\n")).endsWith("\r\n\r\n3\r\ntwo\r\n5\r\nthree\r\n0\r\n\r\n");
  }

  @Test
  void handlerThatThrowsAfterItsHead_isCut() throws Exception {
    HttpServer server =
        serve(
            exchange -> {
              byte[] first = "first".getBytes(UTF_8);
              exchange.sendHead(200, EVENTS).write(first, 0, first.length);
              throw new StackOverflowError();
            });
    assertThat(client(server).send(get("/", "") + get("/next", "")).rest()).endsWith("\r\n\r\n5\r\nfirst\r\n");
    await(() -> server.runningExchanges() == 0);
  }

  @Test
  void bodyOfAnAnswerThatCannotBeSent_isAbandoned() throws Exception {
    CountDownLatch abandoned = new CountDownLatch(1);
    StreamingBody never =
        new StreamingBody() {
          @Override
          public void run(ByteSink client) {
            throw new AssertionError("the answer has no head");
          }

          @Override
          public void abandon() {
            abandoned.countDown();
          }
        };
    Headers illegal = Headers.of("Content-Type", "multipart/mixed; boundary=\"");
    HttpServer server = serve(exchange -> new Response.Streaming(200, illegal, never));
    assertThat(client(server).send(get("/", "")).rest()).isEmpty();
    assertThat(abandoned.await(60, TimeUnit.SECONDS)).isTrue();
    await(() -> server.runningExchanges() == 0);
  }

  @Test
  void requestBehindTheLastOne_isNotHandled() throws Exception {
    List<String> handled = new CopyOnWriteArrayList<>();
    HttpServer server =
        serve(
            exchange -> {
              handled.add(exchange.path());
              return echo(exchange);
            });
    RawClient client = client(server).send(get("/last", "Connection: close\r\n") + get("/behind", ""));
    assertThat(client.rest()).endsWith("GET /last ");
    assertThat(handled).containsExactly("/last");
  }
}
