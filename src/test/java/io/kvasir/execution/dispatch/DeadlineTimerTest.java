package io.kvasir.execution.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.time.Timer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

final class DeadlineTimerTest {
  private static final long NOW = 0;
  private static final long SOON = Duration.ofMillis(5).toNanos();
  private static final long LATE = Duration.ofMinutes(10).toNanos();

  private final DeadlineTimer timer = new DeadlineTimer("deadlines-of-a-test");

  @AfterEach
  void close() {
    timer.close();
  }

  private void awaitScheduled(long delay) throws InterruptedException {
    CountDownLatch ran = new CountDownLatch(1);
    timer.schedule(delay, ran::countDown);
    assertThat(ran.await(60, TimeUnit.SECONDS)).isTrue();
  }

  @Test
  void earlierAction_runsBeforeOneThatIsLate_whicheverWasScheduledFirst() throws Exception {
    AtomicBoolean late = new AtomicBoolean();
    timer.schedule(LATE, () -> late.set(true));
    timer.schedule(Long.MAX_VALUE, () -> late.set(true));
    awaitScheduled(SOON);
    awaitScheduled(NOW);
    awaitScheduled(-1);
    assertThat(late).isFalse();
  }

  @Test
  void cancelled_neverRuns() throws Exception {
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch cancelled = new CountDownLatch(1);
    AtomicBoolean ran = new AtomicBoolean();
    timer.schedule(NOW, () -> {
      begun.countDown();
      awaitUninterrupted(cancelled);
    });
    begun.await();
    // It is due at once, and the thread is busy until it is cancelled.
    Timer.Timeout due = timer.schedule(NOW, () -> ran.set(true));
    due.cancel();
    due.cancel();
    cancelled.countDown();
    awaitScheduled(SOON);
    assertThat(ran).isFalse();
  }

  @Test
  void whatIsScheduledWhileAnActionWaits_isNotForgotten() throws Exception {
    for (int i = 0; i < 50; i++) {
      CountDownLatch begun = new CountDownLatch(1);
      CountDownLatch scheduled = new CountDownLatch(1);
      CountDownLatch ran = new CountDownLatch(1);
      timer.schedule(NOW, () -> {
        begun.countDown();
        awaitUninterrupted(scheduled);
        // It may use up a wake-up.
        LockSupport.parkNanos(1);
      });
      begun.await();
      timer.schedule(SOON, ran::countDown);
      scheduled.countDown();
      assertThat(ran.await(60, TimeUnit.SECONDS)).isTrue();
    }
  }

  private static void awaitUninterrupted(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void failure_isNotThatOfTheOthers() throws Exception {
    timer.schedule(NOW, () -> {
      throw new IllegalStateException("an action that fails");
    });
    awaitScheduled(SOON);
  }

  @Test
  void actionThatSchedules_isScheduledAgain() throws Exception {
    CountDownLatch rounds = new CountDownLatch(20);
    timer.schedule(NOW, new Runnable() {
      @Override
      public void run() {
        rounds.countDown();
        if (rounds.getCount() > 0) {
          timer.schedule(1000, this);
        }
      }
    });
    assertThat(rounds.await(60, TimeUnit.SECONDS)).isTrue();
  }

  @Test
  void deadlinesThatAreCancelled_wakeNobody() throws Exception {
    timer.schedule(LATE, () -> {});
    awaitScheduled(SOON);
    while (!timer.isWaiting()) {
      Thread.onSpinWait();
    }
    long before = timer.looks();
    for (int i = 0; i < 10_000; i++) {
      timer.schedule(2 * LATE, () -> {}).cancel();
    }
    // A thread may wake by itself, but hardly so often.
    assertThat(timer.looks() - before).isLessThan(10);
  }

  @Test
  void deadlinesOneAfterTheOther_areLookedForTogether() throws Exception {
    int count = 2_000;
    CountDownLatch ran = new CountDownLatch(count);
    timer.schedule(LATE, () -> {});
    awaitScheduled(SOON);
    long before = timer.looks();
    long begun = System.nanoTime();
    for (int i = 0; i < count; i++) {
      timer.schedule(DeadlineTimer.GRAIN_NANOS + i * 500_000L, ran::countDown);
    }
    assertThat(ran.await(60, TimeUnit.SECONDS)).isTrue();
    long grains = (System.nanoTime() - begun) / DeadlineTimer.GRAIN_NANOS;
    assertThat(timer.looks() - before).isLessThan(grains + 10);
  }

  @Test
  void threads_loseNoAction() throws Exception {
    int each = 2000;
    CountDownLatch ran = new CountDownLatch(3 * each);
    List<Thread> threads = new ArrayList<>();
    for (int t = 0; t < 3; t++) {
      threads.add(Thread.startVirtualThread(() -> {
        for (int i = 0; i < each; i++) {
          timer.schedule(i % 7 * 100_000L, ran::countDown);
          timer.schedule(LATE, () -> {}).cancel();
        }
      }));
    }
    for (Thread thread : threads) {
      thread.join();
    }
    assertThat(ran.await(60, TimeUnit.SECONDS)).isTrue();
  }
}
