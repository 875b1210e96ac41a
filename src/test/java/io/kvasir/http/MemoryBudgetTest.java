package io.kvasir.http;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.http.MemoryBudget.Account;
import io.kvasir.telemetry.Metrics;
import io.kvasir.telemetry.TestMetrics;
import io.kvasir.time.ManualClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
@Tag("lock-free")
final class MemoryBudgetTest {
  private static final int MIB = 1 << 20;
  private static final Duration LONGEST_WAIT = Duration.ofSeconds(1);

  private final PrometheusRegistry registry = new PrometheusRegistry();
  private final ManualClock clock = new ManualClock();
  private final BlockingQueue<String> events = new LinkedBlockingQueue<>();

  /** 16 MiB: 12 for any request, 3 for small ones and 1 for buffers of connections. */
  private final MemoryBudget budget = new MemoryBudget(16 * MIB, clock, new Metrics(registry));

  @Test
  void bytes_areBookedUpToTheLimit_andGivenBackOnce() {
    Account one = open("one");
    assertThat(one.tryBook(10 * MIB)).isTrue();
    Account other = open("other");
    assertThat(other.tryBook(2 * MIB)).isTrue();
    assertThat(other.tryBook(1)).as("of the last quarter").isFalse();
    assertThat(budget.used()).isEqualTo(12 * MIB);
    one.free(4 * MIB);
    assertThat(one.booked()).isEqualTo(6 * MIB);
    one.close();
    one.close();
    one.free(MIB);
    assertThat(one.tryBook(1)).as("closed").isFalse();
    assertThat(budget.used()).isEqualTo(2 * MIB);
    other.close();
    assertThat(budget.used()).isZero();
    assertThat(TestMetrics.sum(registry, "kvasir_http_memory_peak_bytes")).isEqualTo(12 * MIB);
    assertThat(TestMetrics.sum(registry, "kvasir_http_memory_limit_bytes")).isEqualTo(16 * MIB);
  }

  @Test
  void smallRequests_fit_whereLargeOnesDoNot() {
    assertThat(open("large").tryBook(12 * MIB)).isTrue();
    assertThat(open("next").tryBook(MIB)).isFalse();
    for (int i = 0; i < 3 * MIB / MemoryBudget.SMALL; i++) {
      assertThat(open("small").tryBook(MemoryBudget.SMALL)).isTrue();
    }
    assertThat(open("one too many").tryBook(1)).isFalse();
    assertThat(budget.tryBookReading(MIB)).isTrue();
    assertThat(budget.tryBookReading(1)).isFalse();
    budget.freeReading(MIB);
    assertThat(budget.tryBookReading(1)).isTrue();
  }

  @Test
  void booking_waitsUntilItFits_inOrder() throws Exception {
    Account large = open("large");
    assertThat(large.tryBook(12 * MIB)).isTrue();
    open("first").book(8 * MIB, () -> events.add("first booked"));
    Account second = open("second");
    second.book(4 * MIB, () -> events.add("second booked"));
    assertThat(open("third").tryBook(1 * MIB)).isFalse();
    assertThat(budget.used()).isEqualTo(12 * MIB);

    large.free(4 * MIB);
    assertThat(open("hasty").tryBook(2 * MIB)).as("others wait").isFalse();
    large.free(4 * MIB);
    assertThat(event()).isEqualTo("first booked");
    large.close();
    assertThat(event()).isEqualTo("second booked");
    assertThat(budget.used()).isEqualTo(12 * MIB);
  }

  @Test
  void booking_thatNeverFits_isRefusedWhenItsTimeIsUp() throws Exception {
    assertThat(open("large").tryBook(12 * MIB)).isTrue();
    Account late = open("late");
    assertThat(late.tryBook(MemoryBudget.SMALL)).isTrue();
    late.book(MIB, () -> events.add("booked"));
    clock.advance(LONGEST_WAIT.minusNanos(1));
    budget.endWaits();
    assertThat(budget.used()).isEqualTo(12 * MIB + MemoryBudget.SMALL);
    clock.advance(Duration.ofNanos(1));
    budget.endWaits();
    assertThat(event()).isEqualTo("late refused");
    assertThat(budget.used()).isEqualTo(12 * MIB);
    assertThat(TestMetrics.sum(registry, "kvasir_http_memory_refusals", "full")).isEqualTo(1);
    assertThat(TestMetrics.sum(registry, "kvasir_http_memory_waits")).isEqualTo(1);
  }

  @Test
  void incompleteBodies_thatAllWaitForMore_endWithTheFirstServed() throws Exception {
    List<Account> bodies = new ArrayList<>();
    for (int i = 0; i < 6; i++) {
      Account body = open("body" + i);
      assertThat(body.tryBook(2 * MIB)).isTrue();
      body.incomplete();
      bodies.add(body);
    }
    for (Account body : bodies) {
      body.book(2 * MIB, () -> events.add("body" + bodies.indexOf(body) + " booked"));
    }
    clock.advance(LONGEST_WAIT);
    budget.endWaits();
    List<String> ends = new ArrayList<>();
    for (int i = 0; i < 6; i++) {
      ends.add(event());
    }
    assertThat(ends)
        .as("the youngest gave way to the oldest")
        .containsExactlyInAnyOrder(
            "body0 booked", "body1 booked", "body2 booked", "body3 refused", "body4 refused", "body5 refused");
    assertThat(budget.used()).isEqualTo(12 * MIB);
  }

  @Test
  void smallRequest_isNeverKeptOut_byIncompleteBodies() throws Exception {
    for (int i = 0; i < 15 * MIB / MemoryBudget.SMALL; i++) {
      Account hostile = open("hostile");
      assertThat(hostile.tryBook(MemoryBudget.SMALL)).isTrue();
      hostile.incomplete();
    }
    assertThat(budget.used()).isEqualTo(15 * MIB);
    for (int i = 0; i < 1000; i++) {
      Account ordinary = open("ordinary");
      assertThat(ordinary.tryBook(16 << 10)).isTrue();
      assertThat(ordinary.complete()).isTrue();
      ordinary.close();
    }
    assertThat(event()).isEqualTo("hostile refused");
    assertThat(events).as("one made room for all of them").isEmpty();
  }

  @Test
  void largeRequest_isGivenRoomAtOnce_byBodiesThatHaveStalled_only() throws Exception {
    Account stalled = open("stalled");
    assertThat(stalled.tryBook(6 * MIB)).isTrue();
    stalled.incomplete();
    clock.advance(LONGEST_WAIT.minusNanos(1));
    Account growing = open("growing");
    assertThat(growing.tryBook(2 * MIB)).isTrue();
    growing.incomplete();
    clock.advance(Duration.ofNanos(1));
    open("one").book(8 * MIB, () -> events.add("one booked"));
    assertThat(List.of(event(), event())).containsExactlyInAnyOrder("stalled refused", "one booked");

    open("two").book(4 * MIB, () -> events.add("two booked"));
    clock.advance(LONGEST_WAIT.minusMillis(2));
    budget.endWaits();
    assertThat(growing.complete()).as("has not given way").isTrue();
    clock.advance(Duration.ofMillis(2));
    budget.endWaits();
    assertThat(event()).isEqualTo("two refused");
  }

  @Test
  void requestsThatEnd_whileTheyWait_arePassedOver() throws Exception {
    Account large = open("large");
    assertThat(large.tryBook(12 * MIB)).isTrue();
    Account left = open("left");
    left.book(8 * MIB, () -> events.add("left booked"));
    open("next").book(8 * MIB, () -> events.add("next booked"));
    left.close();
    assertThat(events).isEmpty();
    large.close();
    assertThat(event()).isEqualTo("next booked");
    assertThat(budget.used()).isEqualTo(8 * MIB);
  }

  @Test
  void completeBodies_neverGiveWay() {
    for (int i = 0; i < 15 * MIB / MemoryBudget.SMALL; i++) {
      Account body = open("body");
      assertThat(body.tryBook(MemoryBudget.SMALL)).isTrue();
      body.incomplete();
      assertThat(body.complete()).isTrue();
    }
    assertThat(open("next").tryBook(1)).isFalse();
    assertThat(events).isEmpty();
  }

  @Test
  void bodyThatGaveWay_isNotComplete() throws Exception {
    Account body = open("body");
    assertThat(body.tryBook(12 * MIB)).isTrue();
    body.incomplete();
    Account other = open("other");
    other.book(4 * MIB, () -> events.add("booked"));
    clock.advance(LONGEST_WAIT);
    budget.endWaits();
    assertThat(List.of(event(), event())).containsExactlyInAnyOrder("body refused", "booked");
    assertThat(body.complete()).isFalse();
    assertThat(body.tryBook(1)).isFalse();
    body.close();
    assertThat(budget.used()).isEqualTo(4 * MIB);
  }

  /** Against a model that is too simple to be wrong. */
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5})
  void randomBookings_addUp(long seed) {
    Random random = new Random(seed);
    long limit = 4 * MIB;
    MemoryBudget small = new MemoryBudget(limit, clock, new Metrics(new PrometheusRegistry()));
    List<ModelAccount> model = new ArrayList<>();
    for (int step = 0; step < 20_000; step++) {
      if (model.isEmpty() || random.nextInt(6) == 0) {
        model.add(new ModelAccount(small.open(_ -> {})));
        continue;
      }
      ModelAccount own = model.get(random.nextInt(model.size()));
      switch (random.nextInt(8)) {
        case 0, 1, 2, 3 -> {
          long bytes = 1L + random.nextInt(random.nextBoolean() ? 64 << 10 : MIB);
          assertThat(own.account.tryBook(bytes)).as("step %d", step).isEqualTo(book(model, own, bytes, limit));
        }
        case 4 -> {
          long bytes = own.booked == 0 ? 0 : random.nextLong(own.booked + 1);
          own.account.free(bytes);
          own.booked -= bytes;
        }
        case 5 -> {
          if (!own.incomplete && !own.complete) {
            own.incomplete = true;
            own.since = step;
            own.account.incomplete();
          }
        }
        case 6 -> {
          assertThat(own.account.complete()).isEqualTo(!own.complete);
          own.complete = true;
          own.incomplete = false;
        }
        default -> {
          own.account.close();
          model.remove(own);
        }
      }
      assertThat(small.used()).as("step %d", step).isEqualTo(model.stream().mapToLong(a -> a.booked).sum());
      assertThat(small.used()).isLessThanOrEqualTo(limit);
    }
  }

  private static boolean book(List<ModelAccount> model, ModelAccount own, long bytes, long limit) {
    boolean small = own.booked + bytes <= MemoryBudget.SMALL;
    long most = small ? limit - limit / 16 : limit - limit / 4;
    while (true) {
      long used = model.stream().mapToLong(a -> a.booked).sum();
      if (used + bytes <= most) {
        own.booked += bytes;
        return true;
      }
      ModelAccount victim = !small ? null
          : model.stream()
              .filter(a -> a.incomplete && a != own)
              .max(Comparator.comparingLong((ModelAccount a) -> a.booked).thenComparingLong(a -> a.since))
              .orElse(null);
      if (victim == null || victim.booked < own.booked) {
        return false;
      }
      model.remove(victim);
    }
  }

  private static final class ModelAccount {
    final Account account;
    long booked;
    boolean incomplete;
    boolean complete;
    int since;

    ModelAccount(Account account) {
      this.account = account;
    }
  }

  @Test
  void manyThreads_neverBookMoreThanTheLimit_andEveryRequestEnds() throws Exception {
    int threads = 16;
    int each = 3000;
    AtomicLong held = new AtomicLong();
    AtomicLong most = new AtomicLong();
    AtomicInteger booked = new AtomicInteger();
    AtomicInteger refused = new AtomicInteger();
    CountDownLatch working = new CountDownLatch(threads);
    for (int t = 0; t < threads; t++) {
      Thread.ofVirtual().start(() -> {
        for (int i = 0; i < each; i++) {
          request(held, most, booked, refused);
        }
        working.countDown();
      });
    }
    while (!working.await(1, TimeUnit.MILLISECONDS)) {
      clock.advance(LONGEST_WAIT.dividedBy(4));
      budget.endWaits();
    }
    assertThat(booked.get() + refused.get()).isEqualTo(threads * each);
    assertThat(booked.get()).isGreaterThan(threads * each / 10);
    assertThat(most.get()).isLessThanOrEqualTo(16 * MIB);
    assertThat(budget.used()).isZero();
  }

  /** Books in two steps, as a body that grows; counts what it holds only while it is certain to hold it. */
  private void request(AtomicLong held, AtomicLong most, AtomicInteger booked, AtomicInteger refused) {
    ThreadLocalRandom random = ThreadLocalRandom.current();
    CountDownLatch end = new CountDownLatch(1);
    AtomicInteger endings = new AtomicInteger();
    Account account = budget.open(_ -> {
      refused.incrementAndGet();
      endings.incrementAndGet();
      end.countDown();
    });
    long first = 1L + random.nextInt(MIB);
    long more = 1L + random.nextInt(4 * MIB);
    Runnable complete = () -> {
      if (account.complete()) {
        most.accumulateAndGet(held.addAndGet(first + more), Math::max);
        booked.incrementAndGet();
        endings.incrementAndGet();
        end.countDown();
      }
    };
    Runnable second = () -> {
      account.incomplete();
      if (account.tryBook(more)) {
        complete.run();
      } else {
        account.book(more, complete);
      }
    };
    if (account.tryBook(first)) {
      second.run();
    } else {
      account.book(first, second);
    }
    try {
      end.await();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
    if (account.booked() > 0) {
      held.addAndGet(-first - more);
    }
    account.close();
    assertThat(endings.get()).isEqualTo(1);
  }

  private Account open(String name) {
    return budget.open(_ -> events.add(name + " refused"));
  }

  private String event() throws InterruptedException {
    @Nullable String event = events.poll(30, TimeUnit.SECONDS);
    assertThat(event).as("an event").isNotNull();
    return event;
  }
}
