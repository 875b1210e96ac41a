package io.kvasir.gateway;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvasir.admission.AdmissionSettings;
import io.kvasir.answers.AnswerSettings;
import io.kvasir.answers.TestAnswers;
import io.kvasir.cell.Decision;
import io.kvasir.cell.Outcome;
import io.kvasir.http.client.ScriptedPod;
import io.kvasir.routing.ProfileChoice;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The response cache in front of the workers, over real sockets. */
final class CachedAnswersTest {
  private static final String CHAT = "/v1/chat/completions";
  private static final String BODY = "{\"model\":\"m\",\"temperature\":0,\"messages\":[{\"content\":\"Hi\"}]}";
  private static final String STREAM = BODY.replace("\"temperature\"", "\"stream\":true,\"temperature\"");
  private static final List<String> EVENTS = List.of(
      "data: {\"id\":\"c-1\",\"created\":7,\"choices\":[{\"delta\":{\"content\":\"H\"}}]}\n\n",
      "data: {\"id\":\"c-1\",\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
      "data: [DONE]\n\n");

  private final AtomicInteger asked = new AtomicInteger();
  private final ScriptedPod pod = new ScriptedPod(
      (request, out) -> out.json(200, TestAnswers.chat("answer " + asked.incrementAndGet())));
  private @Nullable TestRouter router;

  @AfterEach
  void stop() {
    if (router != null) {
      router.close();
    }
    pod.close();
  }

  @Test
  void identicalRequest_isAnsweredFromTheCache() throws Exception {
    start(TestAnswers.memory());
    HttpResponse<String> miss = router().post(CHAT, BODY, "X-Request-Id", "one");
    HttpResponse<String> hit =
        router().post(CHAT, "{ \"messages\":[{\"content\":\"Hi\"}], \"temperature\":0.0, \"model\":\"m\"}",
            "X-Request-Id", "two");

    assertThat(cache(miss)).isEqualTo("miss");
    assertThat(cache(hit)).isEqualTo("hit");
    assertThat(hit.body()).isEqualTo(miss.body());
    assertThat(hit.headers().firstValue("Age")).isPresent();
    assertThat(hit.headers().firstValue("Content-Type")).hasValue("application/json");
    assertThat(hit.headers().firstValue("X-Request-Id")).hasValue("two");
    assertThat(hit.headers().firstValue("X-Router-Backend")).isEmpty();
    assertThat(asked).hasValue(1);
    assertThat(router().cells.asked).containsExactly("one");
    assertThat(router().metric("kvasir_requests", "chat", "m", "2xx")).isEqualTo(2);
    assertThat(router().metric("kvasir_requests_in_flight")).isZero();
    assertThat(router().metric("kvasir_answer_cache_hits")).isEqualTo(1);
    assertThat(router().metric("kvasir_answer_cache_misses")).isEqualTo(1);
  }

  @Test
  void stream_isReplayedAsItCame() throws Exception {
    pod.script((request, out) -> {
      asked.incrementAndGet();
      out.stream(EVENTS);
    });
    start(TestAnswers.memory());
    HttpResponse<String> miss = router().post(CHAT, STREAM);
    HttpResponse<String> hit = router().post(CHAT, STREAM);

    assertThat(cache(miss)).isEqualTo("miss");
    assertThat(cache(hit)).isEqualTo("hit");
    assertThat(hit.body()).isEqualTo(miss.body()).isEqualTo(String.join("", EVENTS));
    assertThat(hit.headers().firstValue("Content-Type")).hasValue("text/event-stream; charset=utf-8");
    assertThat(asked).hasValue(1);
    // Not a stream: another request.
    pod.script((request, out) -> out.json(200, TestAnswers.chat("whole")));
    assertThat(cache(router().post(CHAT, BODY))).isEqualTo("miss");
  }

  @Test
  void truncatedStreams_reachTheClientTruncated_andAreNeverKept() throws Exception {
    start(TestAnswers.memory());
    String whole = String.join("", EVENTS);
    // Once its reason has come, only the terminator is missing, and the router knows that.
    for (int length = 1; length < whole.indexOf("finish_reason"); length += 17) {
      String part = whole.substring(0, length);
      // A pod that dies, and one that ends its stream in good order without having finished.
      boolean reset = length % 2 == 0;
      pod.script((request, out) -> {
        out.events().chunk(part);
        if (reset) {
          out.reset();
        } else {
          out.end();
        }
      });
      // No other worker continues it.
      String body = STREAM.replace("Hi", "Hi " + length).replaceFirst("\\{", "{\"presence_penalty\":0.5,");
      if (reset) {
        assertThatThrownBy(() -> router().post(CHAT, body)).isInstanceOf(IOException.class);
      } else {
        String truncated = router().post(CHAT, body).body();
        assertThat(whole).startsWith(truncated.substring(0, truncated.indexOf("data: {\"error\":")));
      }
      await("the request to be over", () -> router().metric("kvasir_requests_in_flight") == 0);
      pod.script((request, out) -> out.stream(EVENTS));
      HttpResponse<String> again = router().post(CHAT, body);
      assertThat(cache(again)).isEqualTo("miss");
      assertThat(again.body()).isEqualTo(whole);
    }
  }

  @Test
  void errors_areNeverKept() throws Exception {
    start(TestAnswers.memory());
    pod.script((request, out) -> out.json(400, "{\"error\":{\"message\":\"bad\"}}"));
    assertThat(router().post(CHAT, BODY).statusCode()).isEqualTo(400);
    pod.script((request, out) -> out.json(200, "{\"error\":{\"message\":\"bad\"}}"));
    assertThat(cache(router().post(CHAT, BODY))).isEqualTo("miss");
    assertThat(router().metric("kvasir_answer_cache_not_kept", "error")).isEqualTo(1);
    pod.script((request, out) -> out.json(200, TestAnswers.chat("good"), "Content-Encoding", "br"));
    assertThat(cache(router().post(CHAT, BODY))).isEqualTo("miss");
    pod.script((request, out) -> out.json(200, TestAnswers.chat("good"), "Cache-Control", "no-store"));
    assertThat(cache(router().post(CHAT, BODY))).isEqualTo("miss");
    pod.script((request, out) -> out.json(200, TestAnswers.chat("good")));
    assertThat(cache(router().post(CHAT, BODY))).isEqualTo("miss");
    assertThat(cache(router().post(CHAT, BODY))).isEqualTo("hit");
    assertThat(router().metric("kvasir_requests_in_flight")).isZero();
  }

  @Test
  void tenants_neverMeet() throws Exception {
    start(TestAnswers.memory(), new ProfileChoice("random", Map.of(), Map.of(), List.of("X-Team"), false));
    List<String[]> owners = List.of(
        new String[] {},
        new String[] {"Authorization", "Bearer a"},
        new String[] {"Authorization", "Bearer b"},
        new String[] {"X-Api-Key", "c"},
        new String[] {"X-Team", "red", "Authorization", "Bearer a"},
        new String[] {"X-Team", "blue", "Authorization", "Bearer a"});
    List<String> answers = new ArrayList<>();
    for (String[] owner : owners) {
      HttpResponse<String> response = router().post(CHAT, BODY, owner);
      assertThat(cache(response)).isEqualTo("miss");
      answers.add(response.body());
    }
    assertThat(answers).doesNotHaveDuplicates();
    for (int i = 0; i < owners.size(); i++) {
      HttpResponse<String> response = router().post(CHAT, BODY, owners.get(i));
      assertThat(cache(response)).isEqualTo("hit");
      assertThat(response.body()).isEqualTo(answers.get(i));
    }
    // One key is one tenant, however it is sent; a team is one, whoever of it asks.
    assertThat(router().post(CHAT, BODY, "X-Api-Key", "a").body()).isEqualTo(answers.get(1));
    assertThat(router().post(CHAT, BODY, "X-Team", "red", "Authorization", "Bearer z").body())
        .isEqualTo(answers.get(4));
  }

  @Test
  void whatMayNotBeCached_saysWhy() throws Exception {
    start(TestAnswers.memory());
    HttpResponse<String> sampled = router().post(CHAT, BODY.replace("0,", "0.7,"));
    assertThat(cache(sampled)).isEqualTo("bypass");
    assertThat(reason(sampled)).isEqualTo("sampled");
    assertThat(reason(router().post(CHAT, BODY, "Cache-Control", "no-store"))).isEqualTo("no_store");
    assertThat(reason(router().post("/v1/messages/count_tokens", BODY))).isEqualTo("api");
    assertThat(router().metric("kvasir_answer_cache_bypasses", "sampled")).isEqualTo(1);
    assertThat(router().metric("kvasir_answer_cache_kept")).isZero();
  }

  @Test
  void noCache_getsANewAnswer_thatIsKept() throws Exception {
    start(TestAnswers.memory());
    router().post(CHAT, BODY);
    HttpResponse<String> fresh = router().post(CHAT, BODY, "Cache-Control", "no-cache");
    assertThat(cache(fresh)).isEqualTo("bypass");
    assertThat(reason(fresh)).isEqualTo("no_cache");
    assertThat(fresh.body()).contains("answer 2");
    assertThat(router().post(CHAT, BODY).body()).isEqualTo(fresh.body());
  }

  @Test
  void tenMegabytes_areKept_streamedAndWhole() throws Exception {
    start(TestAnswers.memory());
    String long10 = TestAnswers.chat("x".repeat(10 << 20));
    pod.script((request, out) -> out.json(200, long10));
    assertThat(router().post(CHAT, BODY).body()).isEqualTo(long10);
    HttpResponse<String> whole = router().post(CHAT, BODY);
    assertThat(cache(whole)).isEqualTo("hit");
    assertThat(whole.body()).isEqualTo(long10);

    List<String> events = new ArrayList<>();
    for (int i = 0; i < 1000; i++) {
      events.add("data: {\"choices\":[{\"delta\":{\"content\":\"" + "y".repeat(10 << 10) + "\"}}]}\n\n");
    }
    events.addAll(EVENTS);
    pod.script((request, out) -> out.stream(events));
    assertThat(router().post(CHAT, STREAM).body()).isEqualTo(String.join("", events));
    HttpResponse<String> stream = router().post(CHAT, STREAM);
    assertThat(cache(stream)).isEqualTo("hit");
    assertThat(stream.body()).isEqualTo(String.join("", events));
  }

  @Test
  void identicalRequestsAtOnce_askTheWorkerOnce() throws Exception {
    start(TestAnswers.shared());
    CountDownLatch all = new CountDownLatch(1);
    pod.script((request, out) -> {
      asked.incrementAndGet();
      out.events().chunk(EVENTS.get(0));
      all.await();
      out.chunk(EVENTS.get(1));
      out.chunk(EVENTS.get(2)).end();
    });
    List<CompletableFuture<HttpResponse<String>>> answers = new ArrayList<>();
    for (int i = 0; i < 200; i++) {
      answers.add(router().client().sendAsync(router().request("POST", CHAT, STREAM), BodyHandlers.ofString()));
    }
    await("all but one to wait", () -> router().metric("kvasir_answer_cache_waiting") == 199);
    all.countDown();
    int misses = 0;
    for (CompletableFuture<HttpResponse<String>> answer : answers) {
      HttpResponse<String> response = answer.get(60, TimeUnit.SECONDS);
      assertThat(response.body()).isEqualTo(String.join("", EVENTS));
      misses += cache(response).equals("miss") ? 1 : 0;
    }
    assertThat(misses).isEqualTo(1);
    assertThat(asked).hasValue(1);
    assertThat(router().metric("kvasir_answer_cache_shared")).isEqualTo(199);
    await("nothing to be left", () -> router().metric("kvasir_requests_in_flight") == 0);
    assertThat(router().metric("kvasir_answer_cache_waiting")).isZero();
  }

  @Test
  void whoAskedFirst_mayLeave() throws Exception {
    start(TestAnswers.shared());
    CountDownLatch left = new CountDownLatch(1);
    pod.script((request, out) -> {
      asked.incrementAndGet();
      out.events().chunk(EVENTS.get(0));
      left.await();
      out.chunk(EVENTS.get(1));
      out.chunk(EVENTS.get(2)).end();
    });
    HttpResponse<InputStream> second;
    try (Socket first = router().connect()) {
      first.getOutputStream().write(TestRouter.wire(CHAT, STREAM));
      assertThat(first.getInputStream().read()).isEqualTo('H');
      second = router().client().send(router().request("POST", CHAT, STREAM), BodyHandlers.ofInputStream());
    }
    left.countDown();
    assertThat(new String(second.body().readAllBytes(), StandardCharsets.UTF_8)).isEqualTo(String.join("", EVENTS));
    assertThat(asked).hasValue(1);
    assertThat(router().metric("kvasir_answer_cache_kept")).isEqualTo(1);
  }

  @Test
  void whenAllHaveLeft_theWorkerIsToldAtOnce() throws Exception {
    start(TestAnswers.shared());
    CountDownLatch gone = new CountDownLatch(1);
    pod.script((request, out) -> {
      out.events().chunk(EVENTS.get(0));
      out.awaitClosed();
      gone.countDown();
    });
    try (Socket one = router().connect();
        Socket other = router().connect()) {
      for (Socket client : List.of(one, other)) {
        client.getOutputStream().write(TestRouter.wire(CHAT, STREAM));
        assertThat(client.getInputStream().read()).isEqualTo('H');
      }
      assertThat(router().metric("kvasir_answer_cache_shared")).isEqualTo(1);
    }
    assertThat(gone.await(60, TimeUnit.SECONDS)).isTrue();
    assertThat(router().cells.outcome()).isInstanceOf(Outcome.Cancelled.class);
    await("nothing to be left", () -> router().metric("kvasir_requests_in_flight") == 0);
  }

  @Test
  void aFailureOfTheMoment_isTriedOnceMore_notOncePerClient() throws Exception {
    start(TestAnswers.shared());
    CountDownLatch all = new CountDownLatch(1);
    pod.script((request, out) -> {
      if (asked.incrementAndGet() == 1) {
        all.await();
        out.json(429, "{\"error\":{\"message\":\"busy\"}}");
      } else {
        out.json(200, TestAnswers.chat("good"));
      }
    });
    List<CompletableFuture<HttpResponse<String>>> answers = new ArrayList<>();
    for (int i = 0; i < 50; i++) {
      answers.add(router().client().sendAsync(router().request("POST", CHAT, BODY), BodyHandlers.ofString()));
    }
    await("all but one to wait", () -> router().metric("kvasir_answer_cache_waiting") == 49);
    all.countDown();
    List<Integer> statuses = new ArrayList<>();
    for (CompletableFuture<HttpResponse<String>> answer : answers) {
      statuses.add(answer.get(60, TimeUnit.SECONDS).statusCode());
    }
    assertThat(statuses).filteredOn(status -> status != 200).containsExactly(429);
    assertThat(asked).hasValue(2);
    await("nothing to be left", () -> router().metric("kvasir_requests_in_flight") == 0);
  }

  /** It may be the leader's own fault, limit or wish: here {@code Prefer: if-available}. */
  @Test
  void refusalOfTheRouter_isTheLeadersOwn() throws Exception {
    start(TestAnswers.shared());
    CountDownLatch all = new CountDownLatch(1);
    AtomicInteger decisions = new AtomicInteger();
    router().cells.otherwise = Decision.NoWorkerReason.NOT_CACHED;
    router().cells.refuse = true;
    router().cells.deciding = () -> {
      if (decisions.incrementAndGet() == 1) {
        awaitUnchecked(all);
      } else {
        router().cells.refuse = false;
      }
    };
    List<CompletableFuture<HttpResponse<String>>> answers = new ArrayList<>();
    answers.add(
        router().client().sendAsync(
            router().request("POST", CHAT, BODY, "Prefer", "if-available"), BodyHandlers.ofString()));
    await("the leader to be on its way", () -> decisions.get() == 1);
    for (int i = 0; i < 3; i++) {
      answers.add(router().client().sendAsync(router().request("POST", CHAT, BODY), BodyHandlers.ofString()));
    }
    await("all but one to wait", () -> router().metric("kvasir_answer_cache_waiting") == 3);
    all.countDown();
    assertThat(answers.getFirst().get(60, TimeUnit.SECONDS).statusCode()).isEqualTo(412);
    for (CompletableFuture<HttpResponse<String>> answer : answers.subList(1, 4)) {
      HttpResponse<String> response = answer.get(60, TimeUnit.SECONDS);
      assertThat(response.statusCode()).isEqualTo(200);
      assertThat(cache(response)).isEqualTo("bypass");
      assertThat(reason(response)).isEqualTo("refused");
    }
    assertThat(router().metric("kvasir_answer_cache_bypasses", "refused")).isEqualTo(3);
    await("nothing to be left", () -> router().metric("kvasir_requests_in_flight") == 0);
    assertThat(router().metric("kvasir_answer_cache_waiting")).isZero();
  }

  private static void awaitUnchecked(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  /** A request that may wait long for a worker holds up no more urgent one. */
  @Test
  void requestsOfDifferentClasses_doNotMeet() throws Exception {
    AdmissionSettings off = AdmissionSettings.OFF;
    AdmissionSettings on = new AdmissionSettings(true, off.classes(), 1, 0, 0, 0, Map.of(), Duration.ZERO);
    GatewaySettings plain = GatewaySettings.defaults();
    router = new TestRouter(
        new GatewaySettings(
            plain.scheme(), plain.usageInjection(), plain.keepAlive(), plain.forwarding(), plain.webSockets(),
            plain.programs(), on),
        TestAnswers.shared());
    router().cells.worker("w0", pod.url(), "m");
    CountDownLatch bulk = new CountDownLatch(1);
    AtomicInteger decisions = new AtomicInteger();
    router().cells.deciding = () -> {
      if (decisions.incrementAndGet() == 1) {
        awaitUnchecked(bulk);
      }
    };
    List<CompletableFuture<HttpResponse<String>>> answers = new ArrayList<>();
    for (int i = 0; i < 2; i++) {
      answers.add(
          router().client().sendAsync(
              router().request("POST", CHAT, BODY, "X-Router-Class", "bulk"), BodyHandlers.ofString()));
    }
    await("one of them to wait for the other", () -> router().metric("kvasir_answer_cache_waiting") == 1);
    await("the other to wait for a worker", () -> decisions.get() == 1);
    assertThat(cache(router().post(CHAT, BODY, "X-Router-Class", "interactive"))).isEqualTo("miss");
    assertThat(router().post(CHAT, BODY + " ", "X-Router-Class", "none").statusCode()).as("a hit").isEqualTo(200);
    bulk.countDown();
    for (CompletableFuture<HttpResponse<String>> answer : answers) {
      assertThat(answer.get(60, TimeUnit.SECONDS).statusCode()).isEqualTo(200);
    }
  }

  /** How the leader's request was routed is not theirs, and not for all keys to know. */
  @Test
  void routingDetailsOfTheLeader_areNotForTheOthers() throws Exception {
    start(TestAnswers.shared());
    CountDownLatch all = new CountDownLatch(1);
    pod.script((request, out) -> {
      all.await();
      out.json(200, TestAnswers.chat("one"));
    });
    List<CompletableFuture<HttpResponse<String>>> answers = new ArrayList<>();
    for (int i = 0; i < 2; i++) {
      answers.add(router().client().sendAsync(router().request("POST", CHAT, BODY), BodyHandlers.ofString()));
    }
    await("one to wait", () -> router().metric("kvasir_answer_cache_waiting") == 1);
    all.countDown();
    for (CompletableFuture<HttpResponse<String>> answer : answers) {
      HttpResponse<String> response = answer.get(60, TimeUnit.SECONDS);
      boolean leader = cache(response).equals("miss");
      assertThat(response.headers().map().keySet().stream().filter(name -> name.startsWith("x-router-")).toList())
          .isEqualTo(
              leader
                  ? List.of("x-router-backend", "x-router-cache", "x-router-profile", "x-router-reason")
                  : List.of("x-router-cache"));
    }
  }

  @Test
  void noWorker_isToldAsWithoutACache() throws Exception {
    start(TestAnswers.shared());
    router().cells.refuse = true;
    router().cells.otherwise = Decision.NoWorkerReason.NONE_HEALTHY;
    assertThat(router().post(CHAT, BODY).statusCode()).isEqualTo(503);
    assertThat(router().metric("kvasir_requests_in_flight")).isZero();
    router().cells.refuse = false;
    assertThat(cache(router().post(CHAT, BODY))).isEqualTo("miss");
  }

  @Test
  void withoutACache_nothingSaysSo() throws Exception {
    router = new TestRouter();
    router.cells.worker("w0", pod.url(), "m");
    router().post(CHAT, BODY);
    HttpResponse<String> again = router().post(CHAT, BODY);
    assertThat(again.body()).contains("answer 2");
    assertThat(cache(again)).isEqualTo("none");
    assertThat(router().registry.scrape(name -> name.startsWith("kvasir_answer_cache")).size()).isZero();
  }

  @Test
  void storeAway_isSaid() throws Exception {
    start(TestAnswers.settings(TestAnswers.redis(1, null), 1 << 20, 1 << 20, false, 1));
    HttpResponse<String> response = router().post(CHAT, BODY);
    assertThat(response.statusCode()).isEqualTo(200);
    assertThat(cache(response)).isEqualTo("bypass");
    assertThat(reason(response)).isEqualTo("store_away");
    assertThat(router().metric("kvasir_answer_cache_store_up")).isZero();
  }

  private void start(AnswerSettings settings) throws IOException {
    start(settings, ProfileChoice.always("random", false));
  }

  private void start(AnswerSettings settings, ProfileChoice choice) throws IOException {
    router = new TestRouter(settings, choice);
    router.cells.worker("w0", pod.url(), "m");
  }

  private TestRouter router() {
    if (router == null) {
      throw new IllegalStateException("not started");
    }
    return router;
  }

  private static String cache(HttpResponse<?> response) {
    return response.headers().firstValue("X-Router-Cache").orElse("none");
  }

  private static String reason(HttpResponse<?> response) {
    return response.headers().firstValue("X-Router-Cache-Reason").orElse("none");
  }
}
