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
final class FlightTest {
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
      Flights<String> flights = new Flights<>(cache);
      Flight<String>.Seat leader = board(flights, cache);
      Flight<String>.Seat early = board(flights, cache);
      assertThat(leader.leads()).isTrue();
      assertThat(early.leads()).isFalse();
      Future<String> first = copied(leader);
      Future<String> second = copied(early);
      Flight<String> flight = leader.flight();
      flight.departed("head", true);
      StringBuilder sent = new StringBuilder();
      for (int i = 0; i < 1000; i++) {
        sent.append(write(flight, TEXT.formatted("token " + i + " " + "x".repeat(i % 97))));
      }
      Future<String> third = copied(board(flights, cache));
      sent.append(write(flight, END));
      flight.completed(EVENTS);

      assertThat(first.get(60, TimeUnit.SECONDS)).isEqualTo("head" + sent);
      assertThat(second.get(60, TimeUnit.SECONDS)).isEqualTo("head" + sent);
      assertThat(third.get(60, TimeUnit.SECONDS)).isEqualTo("head" + sent);
      assertThat(cache.look(REQUEST))
          .isInstanceOfSatisfying(
              Lookup.Hit.class, hit -> assertThat(new String(hit.answer().body(), UTF_8)).isEqualTo(sent.toString()));
      assertThat(cache.figures().recordingBytes()).isZero();
      assertThat(cache.figures().waiting()).isZero();
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void whoHasTheEnd_findsTheAnswerKept(boolean stream) throws Exception {
    CompletableFuture<Thread> client = new CompletableFuture<>();
    // Who keeps an answer looks at the clock, and here finds the client waiting, or gone with all it wanted.
    InstantSource clock = once(() -> Await.await(() -> isAtRest(client.join())));
    try (AnswerCache cache = cache(shared(), clock)) {
      Flight<String>.Seat seat = board(new Flights<>(cache), cache);
      FutureTask<Lookup> asksAgain = new FutureTask<>(() -> {
        seat.head();
        seat.copyTo((bytes, offset, length) -> {});
        return cache.look(REQUEST);
      });
      client.complete(Thread.ofVirtual().start(asksAgain));
      give(seat.flight(), stream);
      assertThat(asksAgain.get(60, TimeUnit.SECONDS)).isInstanceOf(Lookup.Hit.class);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void whileAnAnswerIsBeingKept_itStillServesOthers_thoughAllHaveLeft(boolean stream) throws Exception {
    CompletableFuture<Runnable> meanwhile = new CompletableFuture<>();
    try (AnswerCache cache = cache(shared(), once(() -> meanwhile.join().run()))) {
      Flights<String> flights = new Flights<>(cache);
      Flight<String>.Seat leader = board(flights, cache);
      AtomicInteger stopped = new AtomicInteger();
      leader.flight().onAbandoned(stopped::incrementAndGet);
      CompletableFuture<Flight<String>.Seat> next = new CompletableFuture<>();
      meanwhile.complete(() -> {
        leader.leave();
        next.complete(board(flights, cache));
      });
      give(leader.flight(), stream);
      assertThat(next.get().leads()).isFalse();
      assertThat(copied(next.get()).get(60, TimeUnit.SECONDS)).isEqualTo(stream ? "head" + END : "head");
      assertThat(stopped).hasValue(0);
      assertThat(cache.look(REQUEST)).isInstanceOf(Lookup.Hit.class);
    }
  }

  @Test
  void aSlowClient_holdsUpNobody_whileTheAnswerMayBeKept() throws Exception {
    try (AnswerCache cache = cache(shared())) {
      Flights<String> flights = new Flights<>(cache);
      Flight<String>.Seat slow = board(flights, cache);
      CountDownLatch stuck = new CountDownLatch(1);
      Future<?> stands = threads.submit(() -> {
        slow.copyTo((bytes, offset, length) -> await(stuck));
        return "";
      });
      Future<String> quick = copied(board(flights, cache));
      slow.flight().departed("", true);
      String sent = write(slow.flight(), TEXT.formatted("x".repeat(1 << 20))) + write(slow.flight(), END);
      slow.flight().completed(EVENTS);
      assertThat(quick.get(60, TimeUnit.SECONDS)).isEqualTo(sent);
      stuck.countDown();
      stands.get(60, TimeUnit.SECONDS);
    }
  }

  @Test
  void onlyWhenTheLastClientLeaves_theWorkerIsStopped() throws Exception {
    try (AnswerCache cache = cache(shared())) {
      Flights<String> flights = new Flights<>(cache);
      Flight<String>.Seat leader = board(flights, cache);
      Flight<String>.Seat other = board(flights, cache);
      AtomicInteger stopped = new AtomicInteger();
      leader.flight().onAbandoned(stopped::incrementAndGet);
      leader.flight().departed("", true);
      leader.leave();
      leader.leave();
      assertThat(stopped).hasValue(0);
      write(leader.flight(), "data: 1\n\n");
      other.leave();
      assertThat(stopped).hasValue(1);
      assertThatThrownBy(() -> write(leader.flight(), "data: 2\n\n")).isInstanceOf(IOException.class);
      leader.flight().failed(new IOException("stopped"));

      assertThat(board(flights, cache).leads()).isTrue();
      assertThat(cache.figures().kept()).isZero();
      assertThat(cache.figures().recordingBytes()).isZero();
    }
  }

  @Test
  void whoLeavesAtTheLastEvent_hasHadTheAnswer_whichIsKept() throws Exception {
    try (AnswerCache cache = cache(shared())) {
      Flights<String> flights = new Flights<>(cache);
      Flight<String>.Seat client = board(flights, cache);
      AtomicInteger stopped = new AtomicInteger();
      client.flight().onAbandoned(stopped::incrementAndGet);
      client.flight().departed("head", true);
      String sent = write(client.flight(), TEXT.formatted("x".repeat(100_000))) + write(client.flight(), END);
      client.leave();
      Flight<String>.Seat next = board(flights, cache);
      assertThat(next.leads()).isFalse();
      client.flight().completed(EVENTS);
      assertThat(copied(next).get(60, TimeUnit.SECONDS)).isEqualTo("head" + sent);
      assertThat(stopped).hasValue(0);
      assertThat(cache.look(REQUEST)).isInstanceOf(Lookup.Hit.class);
    }
  }

  @Test
  void aCutAnswer_isCutForAll_andNotKept() throws Exception {
    try (AnswerCache cache = cache(shared())) {
      Flights<String> flights = new Flights<>(cache);
      Flight<String>.Seat leader = board(flights, cache);
      Future<String> first = copied(leader);
      Future<String> second = copied(board(flights, cache));
      leader.flight().departed("", true);
      write(leader.flight(), TEXT.formatted("a"));
      leader.flight().failed(new IOException("reset"));
      for (Future<String> cut : List.of(first, second)) {
        assertThatThrownBy(() -> cut.get(60, TimeUnit.SECONDS)).hasCauseInstanceOf(IOException.class);
      }
      miss(cache.look(REQUEST));
      assertThat(board(flights, cache).leads()).isTrue();
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
      Flights<String> flights = new Flights<>(cache);
      Flight<String>.Seat leader = board(flights, cache);
      Future<String> first = copied(leader);
      Future<String> second = copied(board(flights, cache));
      leader.flight().departed("", true);
      StringBuilder sent = new StringBuilder();
      for (int i = 0; i < 3000; i++) {
        sent.append(write(leader.flight(), TEXT.formatted(i + " ".repeat(900))));
      }
      assertThat(board(flights, cache).leads()).as("too late to join").isTrue();
      sent.append(write(leader.flight(), END));
      leader.flight().completed(EVENTS);
      assertThat(first.get(60, TimeUnit.SECONDS)).isEqualTo(sent.toString());
      assertThat(second.get(60, TimeUnit.SECONDS)).isEqualTo(sent.toString());
      miss(cache.look(REQUEST));
      assertThat(cache.metrics().notKeptFor(why)).isEqualTo(1);
      assertThat(cache.figures().recordingBytes()).isZero();
    }
  }

  @Test
  void tooManyWaiters_areTurnedAway() throws Exception {
    AnswerSettings two = TestAnswers.settings(new StoreSettings.Memory(1 << 20), 1 << 20, 1 << 20, true, 2);
    try (AnswerCache cache = cache(two)) {
      Flights<String> flights = new Flights<>(cache);
      List<Flight<String>.Seat> seats = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        seats.add(board(flights, cache));
      }
      assertThat(flights.board(miss(cache.look(REQUEST)))).isNull();
      seats.get(1).leave();
      assertThat(board(flights, cache).leads()).isFalse();
    }
  }

  @Test
  void afterAFlush_nobodyJoinsWhatWasUnderWay() throws Exception {
    try (AnswerCache cache = cache(shared())) {
      Flights<String> flights = new Flights<>(cache);
      Flight<String>.Seat before = board(flights, cache);
      cache.flush(null, null);
      Flight<String>.Seat after = board(flights, cache);
      assertThat(after.leads()).isTrue();
      before.flight().landed("old", TestAnswers.JSON, TestAnswers.bytes(TestAnswers.chat("old")));
      miss(cache.look(REQUEST));
      assertThat(board(flights, cache).leads()).as("the newer one is still under way").isFalse();
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
  private static void give(Flight<String> flight, boolean stream) throws IOException {
    if (stream) {
      flight.departed("head", true);
      write(flight, END);
      flight.completed(EVENTS);
    } else {
      flight.landed("head", TestAnswers.JSON, TestAnswers.bytes(TestAnswers.chat("a")));
    }
  }

  private static Flight<String>.Seat board(Flights<String> flights, AnswerCache cache) {
    return Objects.requireNonNull(flights.board(miss(cache.look(REQUEST))));
  }

  /** Follows a seat to its end. */
  private Future<String> copied(Flight<String>.Seat seat) {
    Callable<String> task = () -> {
      ByteArrayOutputStream out = new ByteArrayOutputStream();
      String head = String.valueOf(seat.head());
      seat.copyTo(out::write);
      return head + out.toString(UTF_8);
    };
    return threads.submit(task);
  }

  private static String write(Flight<String> flight, String text) throws IOException {
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
