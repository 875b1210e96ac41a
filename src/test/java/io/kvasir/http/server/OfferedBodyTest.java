package io.kvasir.http.server;

import static io.kvasir.Await.await;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.http.ByteSink;
import io.kvasir.http.DeferringSink;
import java.io.IOException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Bodies that are written to clients without waiting for them. */
@Timeout(60)
final class OfferedBodyTest extends HttpServerFixture {
  private static final byte[] PIECE = "0123456789abcdef".repeat(64).getBytes(UTF_8);

  @Test
  void offersToAClientThatDoesNotRead_areKept_andWrittenInOrder() throws Exception {
    CompletableFuture<Integer> offered = new CompletableFuture<>();
    HttpServer server =
        serve(
            exchange ->
                stream(
                    body -> {
                      DeferringSink client = (DeferringSink) body;
                      assertThat(client.canOffer()).isTrue();
                      int pieces = 0;
                      while (!client.isBehind()) {
                        client.offer(PIECE, 0, PIECE.length);
                        pieces++;
                      }
                      client.offer(PIECE, 0, PIECE.length);
                      offered.complete(pieces + 1);
                      client.flush();
                      assertThat(client.isBehind()).isFalse();
                      write(body, "the end");
                    }));
    RawClient client = client(server).send("GET / HTTP/1.0\r\n\r\n");
    // Nothing has been read from the client's socket, and all the same nobody waits.
    int pieces = offered.get();
    client.head();
    assertThat(client.rest()).isEqualTo(new String(PIECE, UTF_8).repeat(pieces) + "the end");
  }

  @Test
  void offerToAClientThatHasGone_failsAndCancels() throws Exception {
    CountDownLatch cancelled = new CountDownLatch(1);
    CompletableFuture<Throwable> failure = new CompletableFuture<>();
    HttpServer server =
        serve(
            exchange -> {
              exchange.cancellation().onCancelled(cancelled::countDown);
              return stream(
                  body -> {
                    try {
                      offerForEver((DeferringSink) body);
                    } catch (IOException e) {
                      failure.complete(e);
                      throw e;
                    }
                  });
            });
    RawClient client = client(server).send(get("/", ""));
    client.head();
    client.close();
    assertThat(failure.get()).isInstanceOf(IOException.class);
    cancelled.await();
    await(() -> server.openConnections() == 0);
  }

  private static void offerForEver(DeferringSink client) throws IOException {
    while (true) {
      client.offer(PIECE, 0, PIECE.length);
      client.flush();
    }
  }

  @Test
  void chunksOfEveryLength_areFramed() throws Exception {
    int[] lengths = {1, 15, 16, 17, 255, 256, 4095, 4096, 65_528};
    HttpServer server =
        serve(
            exchange ->
                stream(
                    body -> {
                      for (int length : lengths) {
                        writeThenOffer(body, length);
                      }
                    }));
    RawClient client = client(server).send(get("/", ""));
    client.head();
    StringBuilder expected = new StringBuilder();
    for (int length : lengths) {
      String chunk = Integer.toHexString(length) + "\r\n" + "x".repeat(length) + "\r\n";
      expected.append(chunk).append(chunk);
    }
    assertThat(client.readTo("\r\n0\r\n\r\n")).isEqualTo(expected + "0\r\n\r\n");
  }

  private static void writeThenOffer(ByteSink body, int length) throws IOException {
    byte[] bytes = "x".repeat(length).getBytes(UTF_8);
    body.write(bytes, 0, length);
    ((DeferringSink) body).offer(bytes, 0, length);
    ((DeferringSink) body).flush();
  }
}
