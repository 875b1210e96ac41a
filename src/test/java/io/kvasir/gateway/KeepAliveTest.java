package io.kvasir.gateway;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.cell.Decision;
import io.kvasir.http.client.ScriptedPod;
import java.io.IOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Streams whose worker says nothing for long, over real sockets. */
final class KeepAliveTest {
  private static final Duration SILENCE = Duration.ofMillis(100);
  private static final String BODY = "{\"model\":\"m\",\"stream\":true}";
  private static final String COMMENT = ": keep-alive\n\n";
  private static final String PING = "event: ping\ndata: {\"type\":\"ping\"}\n\n";
  private static final String TOKEN = "data: {\"choices\":[{\"delta\":{\"content\":\"H\"}}]}\n\n";
  private static final String DONE = "data: [DONE]\n\n";

  private final CountDownLatch released = new CountDownLatch(1);
  private TestRouter router;
  private ScriptedPod pod;
  private ScriptedPod other;

  @BeforeEach
  void start() throws IOException {
    router = new TestRouter(TestRouter.EXECUTION, new GatewaySettings("http", false, SILENCE));
    pod = new ScriptedPod((request, out) -> {
      released.await();
      out.stream(List.of(TOKEN, DONE));
    });
    other = new ScriptedPod((request, out) -> out.stream(List.of(TOKEN, DONE)));
    router.cells.worker("a", pod.url(), "m");
  }

  @AfterEach
  void stop() {
    released.countDown();
    router.close();
    pod.close();
    other.close();
    // The thread of an answer closes its reservation when the client has all of it.
    await("no reservation is left open", () -> router.cells.open.get() == 0);
    assertThat(router.cells.closedTwice).as("reservations closed twice").hasValue(0);
  }

  private Socket ask(String path, String body) throws IOException {
    Socket socket = router.connect();
    socket.getOutputStream().write(TestRouter.wire(path, body, "X-Request-Id", "id-1", "Connection", "close"));
    return socket;
  }

  private static String rest(Socket socket) throws IOException {
    return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
  }

  @ParameterizedTest
  @ValueSource(strings = {"/v1/chat/completions", "/v1/completions", "/v1/responses"})
  void waiting_openAi_headAndCommentsComeEarly(String path) throws Exception {
    try (Socket client = ask(path, BODY)) {
      String early = TestRouter.readTo(client, COMMENT);
      assertThat(early).startsWith("HTTP/1.1 200 OK\r\n").contains("text/event-stream").contains("id-1");
      released.countDown();
      assertThat(rest(client)).contains(TOKEN).contains(DONE).endsWith("0\r\n\r\n");
    }
    assertThat(router.metric("kvasir_keep_alives", "waiting")).isPositive();
  }

  @Test
  void waiting_messages_pingsComeEarly() throws Exception {
    pod.script((request, out) -> {
      released.await();
      out.stream(List.of("event: message_start\ndata: {\"type\":\"message_start\"}\n\n",
          "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"));
    });
    try (Socket client = ask("/v1/messages", BODY)) {
      TestRouter.readTo(client, PING);
      released.countDown();
      assertThat(rest(client)).contains("event: message_start").endsWith("0\r\n\r\n");
    }
  }

  @Test
  void silentBetweenEvents_saysSomething() throws Exception {
    pod.script((request, out) -> {
      out.events().chunk(TOKEN);
      released.await();
      out.chunk(DONE).end();
    });
    try (Socket client = ask("/v1/chat/completions", BODY)) {
      assertThat(TestRouter.readTo(client, TOKEN)).contains("X-Router-Backend: a").doesNotContain(COMMENT);
      TestRouter.readTo(client, COMMENT);
      released.countDown();
      assertThat(rest(client)).contains(DONE).endsWith("0\r\n\r\n");
    }
    assertThat(router.metric("kvasir_keep_alives", "streaming")).isPositive();
  }

  @Test
  void workerFailsAfterTheEarlyHead_theNextOneAnswers() throws Exception {
    pod.script((request, out) -> {
      released.await();
      out.reset();
    });
    router.cells.worker("b", other.url(), "m");
    try (Socket client = ask("/v1/chat/completions", BODY)) {
      TestRouter.readTo(client, COMMENT);
      released.countDown();
      assertThat(rest(client)).contains(TOKEN).contains(DONE).endsWith("0\r\n\r\n");
    }
  }

  @Test
  void nobodyAnswersAfterTheEarlyHead_theErrorIsInTheStream() throws Exception {
    pod.script((request, out) -> {
      released.await();
      out.reset();
    });
    try (Socket client = ask("/v1/chat/completions", BODY)) {
      TestRouter.readTo(client, COMMENT);
      released.countDown();
      assertThat(rest(client))
          .contains("data: {\"error\":{\"message\":\"No worker answered")
          .contains("\"code\":\"worker_failed\"")
          .contains(DONE)
          .endsWith("0\r\n\r\n");
    }
  }

  @Test
  void workersOwnErrorAfterTheEarlyHead_isInTheStream() throws Exception {
    pod.script((request, out) -> {
      released.await();
      out.json(400, "{\n  \"error\": {\n    \"message\": \"too long\", \"code\": 400}\n}");
    });
    try (Socket client = ask("/v1/completions", BODY)) {
      TestRouter.readTo(client, COMMENT);
      released.countDown();
      assertThat(rest(client)).contains("data: {\"error\":{\"message\":\"too long\",\"code\":400}}\n\n" + DONE);
    }
  }

  @Test
  void errorAfterTheEarlyHead_inTheWordsOfMessages() throws Exception {
    pod.script((request, out) -> {
      released.await();
      router.cells.otherwise = Decision.NoWorkerReason.ALL_FULL;
      out.reset();
    });
    try (Socket client = ask("/v1/messages", BODY)) {
      TestRouter.readTo(client, PING);
      released.countDown();
      assertThat(rest(client)).contains("event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\"");
    }
  }

  @Test
  void errorAfterTheEarlyHead_inTheWordsOfResponses() throws Exception {
    pod.script((request, out) -> {
      released.await();
      out.reset();
    });
    try (Socket client = ask("/v1/responses", BODY)) {
      TestRouter.readTo(client, COMMENT);
      released.countDown();
      assertThat(rest(client))
          .contains("event: error\ndata: {\"type\":\"error\",\"code\":\"worker_failed\"")
          .contains("\"sequence_number\":0,\"error\":{\"message\":");
    }
  }

  @Test
  void noStreamAfterTheEarlyHead_isAnError() throws Exception {
    pod.script((request, out) -> {
      released.await();
      out.json(200, "{\"id\":\"whole\"}");
    });
    try (Socket client = ask("/v1/chat/completions", BODY)) {
      TestRouter.readTo(client, COMMENT);
      released.countDown();
      assertThat(rest(client)).contains("none that can be streamed").contains(DONE);
    }
  }

  @Test
  void clientLeavesAfterTheEarlyHead_theWorkerIsCalledOff() throws Exception {
    CountDownLatch gone = new CountDownLatch(1);
    pod.script((request, out) -> {
      out.awaitClosed();
      gone.countDown();
    });
    try (Socket client = ask("/v1/chat/completions", BODY)) {
      TestRouter.readTo(client, COMMENT);
    }
    gone.await();
    router.cells.outcome();
  }

  @Test
  void wholeAnswer_mayTakeItsTime() throws Exception {
    CountDownLatch requested = new CountDownLatch(1);
    pod.script((request, out) -> {
      if (request.text().equals(BODY)) {
        released.await();
        out.stream(List.of(TOKEN, DONE));
      } else {
        requested.countDown();
        released.await();
        out.json(200, "{\"id\":\"whole\"}");
      }
    });
    try (Socket client = ask("/v1/chat/completions", "{\"model\":\"m\"}")) {
      requested.await();
      try (Socket stream = ask("/v1/chat/completions", BODY)) {
        // That one began later and has been silent for too long, so the other has, too.
        TestRouter.readTo(stream, COMMENT);
        released.countDown();
        assertThat(rest(client)).contains("Content-Length: 14").endsWith("{\"id\":\"whole\"}");
        assertThat(rest(stream)).contains(DONE);
      }
    }
  }
}
