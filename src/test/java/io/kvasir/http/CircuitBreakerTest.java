package io.kvasir.http;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.http.CircuitBreaker.Settings;
import io.kvasir.http.CircuitBreaker.State;
import io.kvasir.time.ManualClock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Every transition of a circuit breaker, on a clock that the test moves. */
@Tag("lock-free")
final class CircuitBreakerTest {
  private static final Duration OPEN_TIME = Duration.ofSeconds(1);
  private static final Duration ALMOST = OPEN_TIME.minusNanos(1);
  private static final int THREADS = 8;

  private final ManualClock clock = new ManualClock();
  private final CircuitBreaker breaker = new CircuitBreaker(Settings.of(3, OPEN_TIME), clock);

  private void open() {
    for (int i = 0; i < 3; i++) {
      breaker.onFailure("refused");
    }
    assertThat(breaker.state()).isEqualTo(State.OPEN);
  }

  @Test
  void closedCircuit_passesEverything() {
    assertThat(breaker.state()).isEqualTo(State.CLOSED);
    assertThat(breaker.isClosed()).isTrue();
    assertThat(breaker.permits()).isTrue();
    assertThat(breaker.tryAcquire()).isTrue();
    assertThat(breaker.tryAcquire()).isTrue();
    assertThat(breaker.onSuccess()).isFalse();
    assertThat(breaker.openReason()).isEmpty();
  }

  @Test
  void consecutiveFailures_openIt_andSuccessesInBetweenDoNotCountAgainstIt() {
    assertThat(breaker.onFailure("a")).isFalse();
    assertThat(breaker.onFailure("b")).isFalse();
    assertThat(breaker.onSuccess()).isFalse();
    assertThat(breaker.onFailure("c")).isFalse();
    assertThat(breaker.onFailure("d")).isFalse();
    assertThat(breaker.openReason()).isEmpty();
    assertThat(breaker.onFailure("e")).as("opened").isTrue();

    assertThat(breaker.state()).isEqualTo(State.OPEN);
    assertThat(breaker.isClosed()).isFalse();
    assertThat(breaker.permits()).isFalse();
    assertThat(breaker.tryAcquire()).isFalse();
    assertThat(breaker.openReason()).contains("e");
  }

  @Test
  void openTimeOver_admitsOneTrial_andItsSuccessCloses() {
    open();
    clock.advance(ALMOST);
    assertThat(breaker.tryAcquire()).isFalse();
    clock.advance(Duration.ofNanos(1));

    assertThat(breaker.state()).isEqualTo(State.HALF_OPEN);
    assertThat(breaker.permits()).isTrue();
    assertThat(breaker.openReason()).contains("refused");
    assertThat(breaker.tryAcquire()).isTrue();
    assertThat(breaker.tryAcquire()).as("one trial at a time").isFalse();
    assertThat(breaker.permits()).isFalse();
    assertThat(breaker.state()).isEqualTo(State.HALF_OPEN);

    assertThat(breaker.onSuccess()).as("closed").isTrue();
    assertThat(breaker.state()).isEqualTo(State.CLOSED);
    assertThat(breaker.tryAcquire()).isTrue();
    assertThat(breaker.openReason()).isEmpty();
  }

  @Test
  void failedTrial_opensItAgain_forAsLong() {
    open();
    clock.advance(OPEN_TIME);
    assertThat(breaker.tryAcquire()).isTrue();
    clock.advance(ALMOST);
    assertThat(breaker.onFailure("still refused")).as("was not closed").isFalse();

    assertThat(breaker.state()).isEqualTo(State.OPEN);
    assertThat(breaker.openReason()).contains("still refused");
    clock.advance(ALMOST);
    assertThat(breaker.tryAcquire()).isFalse();
    clock.advance(Duration.ofNanos(1));
    assertThat(breaker.tryAcquire()).isTrue();
  }

  @Test
  void trialThatIsNeverReported_delaysTheNextByTheOpenTime() {
    open();
    clock.advance(OPEN_TIME);
    assertThat(breaker.tryAcquire()).isTrue();
    clock.advance(ALMOST);
    assertThat(breaker.tryAcquire()).isFalse();
    clock.advance(Duration.ofNanos(1));
    assertThat(breaker.tryAcquire()).isTrue();
  }

  @Test
  void failureOfACallFromBefore_beginsTheOpenTimeAnew() {
    open();
    clock.advance(ALMOST);
    breaker.onFailure("late");
    clock.advance(ALMOST);
    assertThat(breaker.permits()).isFalse();
    clock.advance(Duration.ofNanos(1));
    assertThat(breaker.permits()).isTrue();
  }

  @Test
  void successOfACallFromBefore_closes() {
    open();
    assertThat(breaker.onSuccess()).isTrue();
    assertThat(breaker.state()).isEqualTo(State.CLOSED);
    breaker.onFailure("a");
    breaker.onFailure("b");
    assertThat(breaker.state()).as("counts anew").isEqualTo(State.CLOSED);
  }

  @Test
  void severalSuccessesToClose_areTrialsOneAfterAnother_andAFailureOpensAgain() {
    CircuitBreaker careful = new CircuitBreaker(new Settings(1, OPEN_TIME, OPEN_TIME, 2), clock);
    assertThat(careful.onFailure("refused")).isTrue();
    clock.advance(OPEN_TIME);
    assertThat(careful.tryAcquire()).isTrue();
    assertThat(careful.onSuccess()).isFalse();
    assertThat(careful.state()).isEqualTo(State.HALF_OPEN);
    assertThat(careful.tryAcquire()).as("the next trial need not wait").isTrue();
    careful.onFailure("refused again");
    assertThat(careful.state()).isEqualTo(State.OPEN);

    clock.advance(OPEN_TIME);
    assertThat(careful.tryAcquire()).isTrue();
    assertThat(careful.onSuccess()).isFalse();
    assertThat(careful.tryAcquire()).isTrue();
    assertThat(careful.onSuccess()).as("closed").isTrue();
    assertThat(careful.isClosed()).isTrue();
  }

  @Test
  void halfOpenCircuit_permitsEveryCallOfThoseWhoChoose() {
    open();
    clock.advance(OPEN_TIME);
    assertThat(breaker.permits()).isTrue();
    assertThat(breaker.permits()).isTrue();
    breaker.onFailure("refused");
    assertThat(breaker.permits()).isFalse();
  }

  @Test
  void openTime_doublesWithEachFailedTrial_upToItsMaximum_andIsShortAgainAfterASuccess() {
    CircuitBreaker backingOff =
        new CircuitBreaker(new Settings(1, OPEN_TIME, OPEN_TIME.multipliedBy(3), 1), clock);
    backingOff.onFailure("refused");
    backingOff.onFailure("of a call from before");
    for (int seconds : new int[] {1, 2, 3, 3}) {
      clock.advance(Duration.ofSeconds(seconds).minusNanos(1));
      assertThat(backingOff.tryAcquire()).as("before %d s", seconds).isFalse();
      clock.advance(Duration.ofNanos(1));
      assertThat(backingOff.tryAcquire()).as("after %d s", seconds).isTrue();
      backingOff.onFailure("refused");
    }
    backingOff.onSuccess();
    backingOff.onFailure("refused");
    clock.advance(OPEN_TIME);
    assertThat(backingOff.tryAcquire()).isTrue();
  }

  @Test
  void manyThreads_openOnce_tryOnce_andCloseOnce() throws Exception {
    try (ExecutorService threads = Executors.newFixedThreadPool(THREADS)) {
      for (int round = 0; round < 500; round++) {
        for (int i = 0; i < 2; i++) {
          breaker.onFailure("refused");
        }
        assertThat(together(threads, () -> breaker.onFailure("refused"))).as("opened").isEqualTo(1);
        assertThat(together(threads, breaker::tryAcquire)).isZero();
        clock.advance(OPEN_TIME);
        assertThat(together(threads, breaker::tryAcquire)).as("trials").isEqualTo(1);
        assertThat(together(threads, breaker::onSuccess)).as("closed").isEqualTo(1);
        assertThat(together(threads, breaker::tryAcquire)).isEqualTo(THREADS);
      }
    }
  }

  @Test
  void noFailureIsLost_amongManyThreads() throws Exception {
    CircuitBreaker patient = new CircuitBreaker(Settings.of(1000 * THREADS, OPEN_TIME), clock);
    try (ExecutorService threads = Executors.newFixedThreadPool(THREADS)) {
      together(threads, () -> {
        for (int i = 0; i < 999; i++) {
          patient.onFailure("refused");
        }
        return true;
      });
      for (int i = 1; i < THREADS; i++) {
        assertThat(patient.onFailure("refused")).isFalse();
      }
      assertThat(patient.onFailure("refused")).isTrue();
    }
  }

  /** How many of the threads, all of which do the same at once, got true. */
  private static long together(ExecutorService threads, Callable<Boolean> action) throws Exception {
    CountDownLatch ready = new CountDownLatch(THREADS);
    List<Future<Boolean>> results = new ArrayList<>();
    for (int i = 0; i < THREADS; i++) {
      results.add(threads.submit(() -> {
        ready.countDown();
        ready.await();
        return action.call();
      }));
    }
    long count = 0;
    for (Future<Boolean> result : results) {
      count += result.get() ? 1 : 0;
    }
    return count;
  }
}
