package io.kvasir.gateway;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvasir.cell.Outcome;
import io.kvasir.execution.ExecutionSettings;
import io.kvasir.http.client.ScriptedPod;
import io.kvasir.load.Ports;
import java.io.IOException;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Workers that fail and clients that leave: who is tried next, what the client sees, what the cells hear. */
final class FailureTest {
  private static final String BODY = "{\"model\":\"m\",\"stream\":true}";
  private static final String TOKEN = "data: {\"choices\":[{\"delta\":{\"content\":\"H\"}}]}\n\n";
  private static final List<String> STREAM = List.of(TOKEN, "data: [DONE]\n\n");

  private TestRouter router;
  private ScriptedPod bad;
  private ScriptedPod good;

  @BeforeEach
  void start() throws IOException {
    start(TestRouter.EXECUTION);
  }

  private void start(ExecutionSettings settings) throws IOException {
    router = new TestRouter(settings, GatewaySettings.defaults());
    bad = new ScriptedPod((request, out) -> out.json(500, "{\"error\":{\"message\":\"bad\"}}"));
    good = new ScriptedPod((request, out) -> out.stream(STREAM));
    router.cells.worker("bad", bad.url(), "m");
    router.cells.worker("good", good.url(), "m");
  }

  @AfterEach
  void stop() {
    router.close();
    bad.close();
    good.close();
    // The thread of an answer closes its reservation when the client has all of it.
    await("no reservation is left open", () -> router.cells.open.get() == 0);
    assertThat(router.cells.closedTwice).as("reservations closed twice").hasValue(0);
  }

  @Test
  void refusedConnection_nextWorkerAnswers() throws Exception {
    URI nobody = URI.create("http://127.0.0.1:" + Ports.free());
    router.cells.workers.clear();
    router.cells.worker("bad", nobody, "m");
    router.cells.worker("good", good.url(), "m");

    assertAnsweredByGood();

    assertThat(router.cells.outcome()).isInstanceOfSatisfying(Outcome.Failed.class, failed ->
        assertThat(failed.transport()).isTrue());
    assertThat(router.cells.outcome()).isInstanceOf(Outcome.Completed.class);
    assertThat(router.metric("kvasir_retries", "connect")).isEqualTo(1);
  }

  @Test
  void resetBeforeTheHead_nextWorkerAnswers() throws Exception {
    bad.script((request, out) -> out.reset());

    assertAnsweredByGood();

    assertThat(router.cells.outcome()).isInstanceOfSatisfying(Outcome.Failed.class, failed ->
        assertThat(failed.transport()).isTrue());
  }

  @Test
  void cutAfterTheHead_beforeTheFirstByte_nextWorkerAnswers() throws Exception {
    bad.script((request, out) -> out.events().reset());

    assertAnsweredByGood();
  }

  @Test
  void emptyStream_nextWorkerAnswers() throws Exception {
    bad.script((request, out) -> out.stream(List.of()));

    assertAnsweredByGood();
  }

  @Test
  void wholeAnswerCutShort_nextWorkerAnswers() throws Exception {
    bad.script((request, out) ->
        out.raw("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"id\":").reset());

    assertAnsweredByGood();
  }

  @Test
  void errorAnswers_nextWorkerAnswersUnderAnotherId() throws Exception {
    for (int status : List.of(408, 429, 500, 502, 503, 504)) {
      bad.script((request, out) -> out.json(status, "{}"));

      assertAnsweredByGood();

      assertThat(bad.next().headers().first("X-Request-Id")).isEqualTo("r");
      assertThat(good.next().headers().first("X-Request-Id")).isEqualTo("r-2");
      Outcome outcome = router.cells.outcome();
      if (status == 429 || status == 503) {
        assertThat(outcome).isEqualTo(new Outcome.Refused(status));
      } else {
        assertThat(outcome).isInstanceOfSatisfying(Outcome.Failed.class, failed ->
            assertThat(failed.transport()).isFalse());
      }
      router.cells.outcome();
    }
  }

  @Test
  void clientsOwnFaults_areNotRetried() throws Exception {
    for (int status : List.of(400, 401, 413, 422, 501)) {
      bad.script((request, out) -> out.json(status, "{\"error\":{\"message\":\"yours\"}}"));

      HttpResponse<String> response = router.post("/v1/chat/completions", BODY);

      assertThat(response.statusCode()).isEqualTo(status);
      assertThat(response.body()).contains("yours");
      assertThat(response.headers().firstValue("X-Router-Backend")).hasValue("bad");
      assertThat(router.cells.outcome()).isInstanceOf(Outcome.Completed.class);
    }
    assertThat(good.seen).isEmpty();
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
      "404 | {'object':'error','message':'The model `m` does not exist.','type':'NotFoundError','code':404}",
      "404 | {'error':{'message':'The model `m` does not exist.','type':'NotFoundError','param':'model','code':404}}",
      "404 | {'detail':'Not Found'}", "404 | <html>nothing here</html>", "404 | {}",
      "400 | {'error':{'message':'x','code':'model_not_found'}}",
      "400 | {'error':{'message':'LoRA adapter m is not loaded'}}"
  })
  void workerThatDoesNotKnowItsModel_nextWorkerAnswers(int status, String body) throws Exception {
    bad.script((request, out) -> out.json(status, body.replace('\'', '"')));

    assertAnsweredByGood();

    assertThat(router.cells.outcome()).isEqualTo(new Outcome.UnknownModel(status, "m"));
    assertThat(router.metric("kvasir_retries", "unknown_model")).isEqualTo(1);
  }

  @ParameterizedTest
  @ValueSource(strings = {
      "/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages", "/v1/embeddings",
      "/v1/messages/count_tokens", "/v1/rerank"
  })
  void everyApiThatNamesItsModel_nextWorkerAnswers(String path) throws Exception {
    bad.script((request, out) ->
        out.json(404, "{\"type\":\"error\",\"error\":{\"message\":\"The model `m` does not exist.\"}}"));
    good.script((request, out) -> out.json(200, "{\"object\":\"list\"}"));

    HttpResponse<String> response = router.post(path, "{\"model\":\"m\"}");

    assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
    assertThat(response.headers().firstValue("X-Router-Backend")).hasValue("good");
  }

  @Test
  void answerInPiecesThatTheModelIsUnknown_nextWorkerAnswers() throws Exception {
    String pieces =
        """
        HTTP/1.1 404 Not Found
        Content-Type: text/plain
        Transfer-Encoding: chunked

        9
        Model not
        6
         found
        0

        """;
    bad.script((request, out) -> out.raw(pieces.replace("\n", "\r\n")));

    assertAnsweredByGood();
  }

  @Test
  void errorOfManyWords_isPassedOn() throws Exception {
    String error = "{\"error\":{\"message\":\"%s\"}}".formatted("the ".repeat(16_000));
    bad.script((request, out) -> out.json(404, error));

    HttpResponse<String> response = router.post("/v1/chat/completions", BODY);

    assertThat(response.statusCode()).isEqualTo(404);
    assertThat(response.body()).isEqualTo(error);
  }

  @Test
  void noWorkerKnowsTheModel_theirAnswerIsPassedOn() throws Exception {
    router.cells.worker("third", good.url(), "m");
    bad.script((request, out) -> out.json(404, "{\"error\":{\"message\":\"The model does not exist\"}}"));
    good.script((request, out) -> out.json(404, "{\"error\":{\"message\":\"The model does not exist.\"}}"));

    HttpResponse<String> response = router.post("/v1/chat/completions", BODY);

    assertThat(response.statusCode()).isEqualTo(404);
    assertThat(response.body()).contains("does not exist.");
    assertThat(good.seen).as("two workers are enough to know").hasSize(1);
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
      "404 | {'error':{'message':'Response with id x not found.','type':'invalid_request_error'}}",
      "404 | {'error':{'message':'Response with id my model not found.','type':'invalid_request_error'}}",
      "404 | {'detail':'Not Found'}",
      "400 | {'error':{'message':'max_tokens is too large for the model'}}"
  })
  void whatTheClientRefersToIsUnknown_isTheClientsFault(int status, String body) throws Exception {
    bad.script((request, out) -> out.json(status, body.replace('\'', '"')));

    assertThat(router.post("/v1/responses", BODY).statusCode()).isEqualTo(status);

    assertThat(router.cells.outcome()).isInstanceOf(Outcome.Completed.class);
    assertThat(good.seen).isEmpty();
  }

  @Test
  void everyWorkerFails_lastErrorAnswerIsPassedOn() throws Exception {
    good.script((request, out) ->
        out.json(503, "{\"error\":{\"message\":\"loading\"}}", "Retry-After", "7"));

    HttpResponse<String> response = router.post("/v1/chat/completions", BODY);

    assertThat(response.statusCode()).isEqualTo(503);
    assertThat(response.body()).isEqualTo("{\"error\":{\"message\":\"loading\"}}");
    assertThat(response.headers().firstValue("Retry-After")).hasValue("7");
    assertThat(response.headers().firstValue("X-Router-Backend")).hasValue("good");
  }

  @Test
  void everyWorkerUnreachable_is502() throws Exception {
    bad.close();
    good.close();

    HttpResponse<String> response = router.post("/v1/messages", BODY);

    assertThat(response.statusCode()).isEqualTo(502);
    assertThat(response.body()).contains("\"type\":\"api_error\"").contains("2 were tried");
    assertThat(response.headers().firstValue("x-should-retry")).isEmpty();
  }

  @Test
  void requestThatEndsItsWorkers_isTriedOnTwo() throws Exception {
    for (int i = 0; i < 5; i++) {
      router.cells.worker("bad-" + i, bad.url(), "m");
    }
    router.cells.workers.removeIf(worker -> worker.id().equals("good"));
    bad.script((request, out) -> out.reset());

    HttpResponse<String> response = router.post("/v1/chat/completions", BODY);

    assertThat(response.statusCode()).isEqualTo(502);
    assertThat(response.headers().firstValue("x-should-retry")).hasValue("false");
    assertThat(response.headers().firstValue("Retry-After")).isEmpty();
    assertThat(response.headers().firstValue("X-Router-Reason")).hasValue("quarantined");
    assertThat(response.body()).contains("request_quarantined");
    assertThat(response.headers().firstValue("X-Router-Refusal"))
        .hasValue("gate=quarantine; knob=execution.quarantine; retryable=false");
    assertThat(router.metric("kvasir_refusals", "quarantine")).isEqualTo(1);
    assertThat(bad.seen).hasSize(2);
    assertThat(router.metric("kvasir_quarantined_requests")).isEqualTo(1);
    assertThat(router.metric("kvasir_retries_refused", "disconnects")).isEqualTo(1);
  }

  @Test
  void requestInQuarantine_isRefusedAtOnce_othersAreServed() throws Exception {
    router.cells.worker("bad-2", bad.url(), "m");
    router.cells.workers.add(1, router.cells.workers.removeLast());
    bad.script((request, out) -> {
      if (request.text().equals(BODY)) {
        out.reset();
      } else {
        out.stream(STREAM);
      }
    });
    router.post("/v1/chat/completions", BODY);

    for (int repeated = 0; repeated < 3; repeated++) {
      HttpResponse<String> refused = router.post("/v1/chat/completions", BODY);
      assertThat(refused.statusCode()).isEqualTo(502);
      assertThat(refused.headers().firstValue("x-should-retry")).hasValue("false");
    }
    assertThat(bad.seen).hasSize(2);
    assertThat(good.seen).isEmpty();
    assertThat(router.metric("kvasir_quarantine_refused")).isEqualTo(3);
    assertThat(router.post("/v1/chat/completions", BODY + " ").statusCode()).isEqualTo(200);
  }

  @Test
  void requestsThatAnEngineCutAsItDied_areAnsweredByOthersAndNotSuspected() throws Exception {
    bad.script((request, out) -> out.reset());
    for (int request = 0; request < 5; request++) {
      assertAnsweredByGood();
    }
    assertThat(router.metric("kvasir_quarantined_requests")).isZero();
  }

  @Test
  void tries_areBounded() throws Exception {
    for (int i = 0; i < 10; i++) {
      router.cells.worker("bad-" + i, bad.url(), "m");
    }
    router.cells.workers.removeIf(worker -> worker.id().equals("good"));

    assertThat(router.post("/v1/chat/completions", BODY).statusCode()).isEqualTo(500);

    assertThat(bad.seen).hasSize(5);
  }

  @Test
  void podWithRanks_unreachable_isTriedOnce() throws Exception {
    bad.script((request, out) -> out.reset());
    router.cells.workers.clear();
    for (int rank = 0; rank < 8; rank++) {
      router.cells.worker("bad", "bad#" + rank, bad.url(), rank, 8, "m");
    }
    router.cells.worker("good", good.url(), "m");

    assertAnsweredByGood();

    assertThat(bad.seen).hasSize(1);
  }

  @Test
  void post_thatMayHaveDoneSomething_isNotRepeated() throws Exception {
    assertThat(router.post("/v1/audio/speech", "{}").statusCode()).isEqualTo(500);
    bad.script((request, out) -> out.reset());
    assertThat(router.post("/v1/audio/speech", "{}").statusCode()).isEqualTo(502);
    bad.script((request, out) -> out.json(503, "{}"));
    assertThat(router.post("/v1/audio/speech", "{}").statusCode()).isEqualTo(200);
  }

  @Test
  void cutInsideTheStream_clientSeesItCutAndNobodyIsAskedAgain() throws Exception {
    CountDownLatch read = new CountDownLatch(1);
    bad.script((request, out) -> {
      out.events().chunk(TOKEN);
      read.await();
      out.reset();
    });

    try (Socket socket = router.connect()) {
      socket.getOutputStream().write(TestRouter.wire("/v1/chat/completions", BODY));
      TestRouter.readTo(socket, TOKEN);
      read.countDown();

      assertThat(TestRouter.rest(socket)).doesNotContain("0\r\n\r\n");
    }
    assertThat(router.cells.outcome()).isInstanceOfSatisfying(Outcome.Failed.class, failed ->
        assertThat(failed.transport()).isTrue());
    assertThat(good.seen).isEmpty();
  }

  @Test
  void streamWithoutItsTerminator_isPassedButFailed() throws Exception {
    bad.script((request, out) -> out.stream(List.of(TOKEN)));

    assertThat(router.post("/v1/chat/completions", BODY).body()).startsWith(TOKEN + "data: {\"error\":");

    assertThat(router.cells.outcome()).isEqualTo(new Outcome.Failed(false, "a stream without its end"));
  }

  @Test
  void errorInsideTheStream_isPassedButFailed() throws Exception {
    List<String> events = List.of(TOKEN, "data: {\"error\":{\"message\":\"OOM\"}}\n\n", "data: [DONE]\n\n");
    bad.script((request, out) -> out.stream(events));

    assertThat(router.post("/v1/chat/completions", BODY).body()).isEqualTo(String.join("", events));

    assertThat(router.cells.outcome()).isEqualTo(new Outcome.Failed(false, "an error inside the stream"));
  }

  @Test
  void firstByteTooLate_nextWorkerAnswers() throws Exception {
    stop();
    start(deadlines(Duration.ofMillis(200), Duration.ofSeconds(30), Duration.ofSeconds(60)));
    CountDownLatch gone = new CountDownLatch(1);
    bad.script((request, out) -> {
      out.events().awaitClosed();
      gone.countDown();
    });

    assertAnsweredByGood();

    assertThat(gone.await(60, TimeUnit.SECONDS)).isTrue();
    assertThat(router.metric("kvasir_retries", "timeout")).isEqualTo(1);
  }

  @Test
  void standingStill_endsTheStream() throws Exception {
    stop();
    start(deadlines(Duration.ofSeconds(30), Duration.ofMillis(200), Duration.ofSeconds(60)));
    bad.script((request, out) -> out.events().chunk(TOKEN).awaitClosed());

    assertThatThrownBy(() -> router.post("/v1/chat/completions", BODY)).isInstanceOf(IOException.class);

    assertThat(router.cells.outcome()).isInstanceOfSatisfying(Outcome.Failed.class, failed ->
        assertThat(failed.detail()).contains("stood still"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"id\":"})
  void nothingComesOfAWorkerThatIsOutOfService_nextWorkerAnswers(String begun) throws Exception {
    stop();
    start(TestRouter.EXECUTION.withStranded(Duration.ofMillis(200)));
    CountDownLatch gone = new CountDownLatch(1);
    bad.script((request, out) -> {
      out.raw(begun).awaitClosed();
      gone.countDown();
    });
    router.cells.setIll("bad", true);

    assertAnsweredByGood();

    assertThat(gone.await(60, TimeUnit.SECONDS)).isTrue();
    assertThat(router.cells.outcome()).as("the cell knew").isEqualTo(new Outcome.Cancelled());
    assertThat(router.metric("kvasir_retries", "stranded")).isEqualTo(1);
    assertThat(router.metric("kvasir_attempts", "failed")).isEqualTo(1);
  }

  @Test
  void requestThatHangsTwoWorkers_isTriedOnNoThird() throws Exception {
    stop();
    start(TestRouter.EXECUTION.withStranded(Duration.ofMillis(100)));
    bad.script((request, out) -> out.awaitClosed());
    good.script((request, out) -> out.awaitClosed());
    try (ScriptedPod third = new ScriptedPod((request, out) -> out.stream(STREAM))) {
      router.cells.worker("third", third.url(), "m");
      router.cells.setIll("bad", true);
      router.cells.setIll("good", true);

      assertThat(router.post("/v1/chat/completions", BODY).statusCode()).isEqualTo(502);

      assertThat(third.seen).isEmpty();
    }
  }

  @Test
  void totalTime_over_is504() throws Exception {
    stop();
    start(deadlines(Duration.ofSeconds(30), Duration.ofSeconds(30), Duration.ofMillis(200)));
    bad.script((request, out) -> out.awaitClosed());

    assertThat(router.post("/v1/chat/completions", BODY).statusCode()).isEqualTo(504);

    assertThat(good.seen).isEmpty();
  }

  @Test
  void clientLeaves_beforeTheFirstByte_engineHearsAtOnce() throws Exception {
    CountDownLatch gone = new CountDownLatch(1);
    bad.script((request, out) -> {
      out.awaitClosed();
      gone.countDown();
    });

    try (Socket socket = router.connect()) {
      socket.getOutputStream().write(TestRouter.wire("/v1/chat/completions", BODY));
      bad.next();
    }

    assertThat(gone.await(60, TimeUnit.SECONDS)).isTrue();
    assertThat(router.cells.outcome()).isEqualTo(new Outcome.Cancelled());
    assertThat(good.seen).isEmpty();
    assertEventually("kvasir_client_aborts", "waiting");
  }

  @Test
  void clientLeaves_insideTheStream_engineHearsAtOnce() throws Exception {
    CountDownLatch gone = new CountDownLatch(1);
    bad.script((request, out) -> {
      out.events().chunk(TOKEN).awaitClosed();
      gone.countDown();
    });

    try (Socket socket = router.connect()) {
      socket.getOutputStream().write(TestRouter.wire("/v1/chat/completions", BODY));
      TestRouter.readTo(socket, TOKEN);
    }

    assertThat(gone.await(60, TimeUnit.SECONDS)).isTrue();
    assertThat(router.cells.outcome()).isEqualTo(new Outcome.Cancelled());
    assertEventually("kvasir_client_aborts", "streaming");
  }

  private void assertAnsweredByGood() throws Exception {
    HttpResponse<String> response = router.post("/v1/chat/completions", BODY, "X-Request-Id", "r");

    assertThat(response.statusCode()).isEqualTo(200);
    assertThat(response.body()).isEqualTo(String.join("", STREAM));
    assertThat(response.headers().firstValue("X-Router-Backend")).hasValue("good");
    assertThat(response.headers().firstValue("X-Request-Id")).hasValue("r");
  }

  private void assertEventually(String metric, String label) {
    await(metric + " of " + label, () -> router.metric(metric, label) == 1);
    assertThat(router.metric("kvasir_attempts_in_flight")).isZero();
  }

  private static ExecutionSettings deadlines(Duration firstByte, Duration idle, Duration total) {
    return new ExecutionSettings(TestRouter.RETRIES, firstByte, idle, total, 1 << 20, null, 10_000);
  }
}
