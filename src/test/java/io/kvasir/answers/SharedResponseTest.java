package io.kvasir.answers;

import static io.kvasir.answers.TestAnswers.CHAT;
import static io.kvasir.answers.TestAnswers.EVENTS;
import static io.kvasir.answers.TestAnswers.cache;
import static io.kvasir.answers.TestAnswers.miss;
import static io.kvasir.answers.TestAnswers.request;
import static io.kvasir.answers.TestAnswers.shared;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvasir.Await;
import io.kvasir.answers.AnswerSettings.StoreSettings;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** One answer for all who ask for it, whoever comes late, is slow, or leaves. */
final class SharedResponseTest {
  private static final AnswerRequest REQUEST = request(CHAT, "{\"seed\":1}");
  private static final String TEXT = "data: {\"choices\":[{\"delta\":{\"content\":\"%s\"}}]}\n\n";
  private static final String END = "data: {\"choices\":[{\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

  private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();

  @AfterEach
  void stop() {
    threads.shutdownNow();
  }

  @Test
  void everySeat_getsTheWholeBody_alsoThoseThatComeLate() throws Exception {
    try (AnswerCache cache = cache(shared())) {
      InFlightResponses<String> flights = new InFlightResponses<>(cache);
      SharedResponse<String>.Subscriber leader = board(flights, cache);
      SharedResponse<String>.Subscriber early = board(flights, cache);
      assertThat(leader.isLeader()).isTrue();
      assertThat(early.isLeader()).isFalse();
      Future<String> first = copied(leader);
      Future<String> second = copied(early);
      SharedResponse<String> flight = leader.response();
      flight.start("head", true);
      StringBuilder sent = new StringBuilder();
      for (int i = 0; i < 1000; i++) {
        sent.append(write(flight, TEXT.formatted("token " + i + " " + "x".repeat(i % 97))));
      }
      Future<String> third = copied(board(flights, cache));
      sent.append(write(flight, END));
      flight.completeBody(EVENTS);

      assertThat(first.get(60, TimeUnit.SECONDS)).isEqualTo("head" + sent);
      assertThat(second.get(60, TimeUnit.SECONDS)).isEqualTo("head" + sent);
      assertThat(third.get(60, TimeUnit.SECONDS)).isEqualTo("head" + sent);
      assertThat(cache.lookUp(REQUEST))
          .isInstanceOfSatisfying(
              Lookup.Hit.class, hit -> assertThat(new String(hit.answer().body(), UTF_8)).isEqualTo(sent.toString()));
      assertThat(cache.stats().recordingBytes()).isZero();
      assertThat(cache.stats().waiting()).isZero();
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void whoHasTheEnd_findsTheAnswerKept(boolean stream) throws Exception {
    CompletableFuture<Thread> client = new CompletableFuture<>();
    // Who keeps an answer looks at the clock, and here finds the client waiting, or gone with all it wanted.
    InstantSource clock = once(() -> Await.await(() -> isAtRest(client.join())));
    try (AnswerCache cache = cache(shared(), clock)) {
      SharedResponse<String>.Subscriber seat = board(new InFlightResponses<>(cache), cache);
      FutureTask<Lookup> asksAgain = new FutureTask<>(() -> {
        seat.awaitHead();
        seat.copyTo((bytes, offset, length) -> {});
        return cache.lookUp(REQUEST);
      });
      client.complete(Thread.ofVirtual().start(asksAgain));
      give(seat.response(), stream);
      assertThat(asksAgain.get(60, TimeUnit.SECONDS)).isInstanceOf(Lookup.Hit.class);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void whileAnAnswerIsBeingKept_itStillServesOthers_thoughAllHaveLeft(boolean stream) throws Exception {
    CompletableFuture<Runnable> meanwhile = new CompletableFuture<>();
    try (AnswerCache cache = cache(shared(), once(() -> meanwhile.join().run()))) {
      InFlightResponses<String> flights = new InFlightResponses<>(cache);
      SharedResponse<String>.Subscriber leader = board(flights, cache);
      AtomicInteger stopped = new AtomicInteger();
      leader.response().cancellation().onCancelled(stopped::incrementAndGet);
      CompletableFuture<SharedResponse<String>.Subscriber> next = new CompletableFuture<>();
      meanwhile.complete(() -> {
        leader.cancel();
        next.complete(board(flights, cache));
      });
      give(leader.response(), stream);
      assertThat(next.get().isLeader()).isFalse();
      assertThat(copied(next.get()).get(60, TimeUnit.SECONDS)).isEqualTo(stream ? "head" + END : "head");
      assertThat(stopped).hasValue(0);
      assertThat(cache.lookUp(REQUEST)).isInstanceOf(Lookup.Hit.class);
    }
  }

  @Test
  void aSlowClient_holdsUpNobody_whileTheAnswerMayBeKept() throws Exception {
    try (AnswerCache cache = cache(shared())) {
      InFlightResponses<String> flights = new InFlightResponses<>(cache);
      SharedResponse<String>.Subscriber slow = board(flights, cache);
      CountDownLatch stuck = new CountDownLatch(1);
      Future<?> stands = threads.submit(() -> {
        slow.copyTo((bytes, offset, length) -> await(stuck));
        return "";
      });
      Future<String> quick = copied(board(flights, cache));
      slow.response().start("", true);
      String sent = write(slow.response(), TEXT.formatted("x".repeat(1 << 20))) + write(slow.response(), END);
      slow.response().completeBody(EVENTS);
      assertThat(quick.get(60, TimeUnit.SECONDS)).isEqualTo(sent);
      stuck.countDown();
      stands.get(60, TimeUnit.SECONDS);
    }
  }

  @Test
  void onlyWhenTheLastClientLeaves_theWorkerIsStopped() throws Exception {
    try (AnswerCache cache = cache(shared())) {
      InFlightResponses<String> flights = new InFlightResponses<>(cache);
      SharedResponse<String>.Subscriber leader = board(flights, cache);
      SharedResponse<String>.Subscriber other = board(flights, cache);
      AtomicInteger stopped = new AtomicInteger();
      leader.response().cancellation().onCancelled(stopped::incrementAndGet);
      leader.response().start("", true);
      leader.cancel();
      leader.cancel();
      assertThat(stopped).hasValue(0);
      write(leader.response(), "data: 1\n\n");
      other.cancel();
      assertThat(stopped).hasValue(1);
      assertThatThrownBy(() -> write(leader.response(), "data: 2\n\n")).isInstanceOf(IOException.class);
      leader.response().fail(new IOException("stopped"));

      assertThat(board(flights, cache).isLeader()).isTrue();
      assertThat(cache.stats().kept()).isZero();
      assertThat(cache.stats().recordingBytes()).isZero();
    }
  }

  @Test
  void whoLeavesAtTheLastEvent_hasHadTheAnswer_whichIsKept() throws Exception {
    try (AnswerCache cache = cache(shared())) {
      InFlightResponses<String> flights = new InFlightResponses<>(cache);
      SharedResponse<String>.Subscriber client = board(flights, cache);
      AtomicInteger stopped = new AtomicInteger();
      client.response().cancellation().onCancelled(stopped::incrementAndGet);
      client.response().start("head", true);
      String sent = write(client.response(), TEXT.formatted("x".repeat(100_000))) + write(client.response(), END);
      client.cancel();
      SharedResponse<String>.Subscriber next = board(flights, cache);
      assertThat(next.isLeader()).isFalse();
      client.response().completeBody(EVENTS);
      assertThat(copied(next).get(60, TimeUnit.SECONDS)).isEqualTo("head" + sent);
      assertThat(stopped).hasValue(0);
      assertThat(cache.lookUp(REQUEST)).isInstanceOf(Lookup.Hit.class);
    }
  }

  @Test
  void aCutAnswer_isCutForAll_andNotKept() throws Exception {
    try (AnswerCache cache = cache(shared())) {
      InFlightResponses<String> flights = new InFlightResponses<>(cache);
      SharedResponse<String>.Subscriber leader = board(flights, cache);
      Future<String> first = copied(leader);
      Future<String> second = copied(board(flights, cache));
      leader.response().start("", true);
      write(leader.response(), TEXT.formatted("a"));
      leader.response().fail(new IOException("reset"));
      for (Future<String> cut : List.of(first, second)) {
        assertThatThrownBy(() -> cut.get(60, TimeUnit.SECONDS)).hasCauseInstanceOf(IOException.class);
      }
      miss(cache.lookUp(REQUEST));
      assertThat(board(flights, cache).isLeader()).isTrue();
    }
  }

  @Test
  void tooLong_passesThroughAWindow_toEveryClient() throws Exception {
    AnswerSettings small = TestAnswers.settings(new StoreSettings.Memory(1 << 20), 100_000, 1 << 20, true, 10);
    passesUnkept(small, "too_long");
  }

  @Test
  void tooMuchUnderWay_passesThroughAWindow_toEveryClient() throws Exception {
    AnswerSettings crowded = TestAnswers.settings(new StoreSettings.Memory(1 << 20), 16 << 20, 100_000, true, 10);
    passesUnkept(crowded, "crowded");
  }

  private void passesUnkept(AnswerSettings settings, String why) throws Exception {
    try (AnswerCache cache = cache(settings)) {
      InFlightResponses<String> flights = new InFlightResponses<>(cache);
      SharedResponse<String>.Subscriber leader = board(flights, cache);
      Future<String> first = copied(leader);
      Future<String> second = copied(board(flights, cache));
      leader.response().start("", true);
      StringBuilder sent = new StringBuilder();
      for (int i = 0; i < 3000; i++) {
        sent.append(write(leader.response(), TEXT.formatted(i + " ".repeat(900))));
      }
      assertThat(board(flights, cache).isLeader()).as("too late to join").isTrue();
      sent.append(write(leader.response(), END));
      leader.response().completeBody(EVENTS);
      assertThat(first.get(60, TimeUnit.SECONDS)).isEqualTo(sent.toString());
      assertThat(second.get(60, TimeUnit.SECONDS)).isEqualTo(sent.toString());
      miss(cache.lookUp(REQUEST));
      assertThat(cache.metrics().notKeptFor(why)).isEqualTo(1);
      assertThat(cache.stats().recordingBytes()).isZero();
    }
  }

  @Test
  void tooManyWaiters_areTurnedAway() throws Exception {
    AnswerSettings two = TestAnswers.settings(new StoreSettings.Memory(1 << 20), 1 << 20, 1 << 20, true, 2);
    try (AnswerCache cache = cache(two)) {
      InFlightResponses<String> flights = new InFlightResponses<>(cache);
      List<SharedResponse<String>.Subscriber> seats = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        seats.add(board(flights, cache));
      }
      assertThat(flights.join(miss(cache.lookUp(REQUEST)), "")).isNull();
      seats.get(1).cancel();
      assertThat(board(flights, cache).isLeader()).isFalse();
    }
  }

  @Test
  void afterAFlush_nobodyJoinsWhatWasUnderWay() throws Exception {
    try (AnswerCache cache = cache(shared())) {
      InFlightResponses<String> flights = new InFlightResponses<>(cache);
      SharedResponse<String>.Subscriber before = board(flights, cache);
      cache.flush(null, null);
      SharedResponse<String>.Subscriber after = board(flights, cache);
      assertThat(after.isLeader()).isTrue();
      before.response().complete("old", TestAnswers.JSON, TestAnswers.bytes(TestAnswers.chat("old")));
      miss(cache.lookUp(REQUEST));
      assertThat(board(flights, cache).isLeader()).as("the newer one is still under way").isFalse();
    }
  }

  /** The system's clock, but that {@code action} comes before it tells the time for the first time. */
  private static InstantSource once(Runnable action) {
    AtomicBoolean done = new AtomicBoolean();
    return () -> {
      if (!done.getAndSet(true)) {
        action.run();
      }
      return Instant.now();
    };
  }

  private static boolean isAtRest(Thread thread) {
    return thread.getState() == Thread.State.WAITING || thread.getState() == Thread.State.TERMINATED;
  }

  /** A whole answer, in one piece or as a stream. */
  private static void give(SharedResponse<String> flight, boolean stream) throws IOException {
    if (stream) {
      flight.start("head", true);
      write(flight, END);
      flight.completeBody(EVENTS);
    } else {
      flight.complete("head", TestAnswers.JSON, TestAnswers.bytes(TestAnswers.chat("a")));
    }
  }

  private static SharedResponse<String>.Subscriber board(InFlightResponses<String> flights, AnswerCache cache) {
    return Objects.requireNonNull(flights.join(miss(cache.lookUp(REQUEST)), ""));
  }

  /** Follows a seat to its end. */
  private Future<String> copied(SharedResponse<String>.Subscriber seat) {
    Callable<String> task = () -> {
      ByteArrayOutputStream out = new ByteArrayOutputStream();
      String head = String.valueOf(seat.awaitHead());
      seat.copyTo(out::write);
      return head + out.toString(UTF_8);
    };
    return threads.submit(task);
  }

  private static String write(SharedResponse<String> flight, String text) throws IOException {
    byte[] bytes = text.getBytes(UTF_8);
    flight.write(bytes, 0, bytes.length);
    return text;
  }

  private static void await(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
