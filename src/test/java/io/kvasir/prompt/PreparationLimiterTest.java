package io.kvasir.prompt;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvasir.http.Cancellation;
import io.kvasir.http.CancellationSource;
import io.kvasir.prompt.PreparationLimiter.OverloadException;
import io.kvasir.prompt.PreparationLimiter.Permit;
import io.kvasir.telemetry.TestMetrics;
import io.kvasir.time.ManualClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
final class PreparationLimiterTest {
  private static final long SMALL = PreparationLimiter.SMALL_BYTES;
  private static final long KIB = 1 << 10;
  private static final long MIB = 1 << 20;
  private static final Duration LONG = Duration.ofHours(1);

  private final ManualClock clock = new ManualClock();
  private final PrometheusRegistry registry = new PrometheusRegistry();
  private final BlockingQueue<String> served = new LinkedBlockingQueue<>();

  private PreparationLimiter limiter(int permits, Duration maxWait) {
    return new PreparationLimiter(
        new PromptSettings(0, permits, maxWait), clock, new PreparationMetrics(registry));
  }

  /** A request that says its name when it has its permit, which it gives back at once. */
  private Thread request(PreparationLimiter limiter, String name, long bytes, Cancellation cancellation) {
    int before = waiting();
    Thread thread = Thread.ofVirtual().start(() -> {
      try (Permit _ = limiter.acquire(bytes, cancellation)) {
        served.add(name);
      } catch (OverloadException | CancellationException | InterruptedException e) {
        served.add(name + " " + e.getClass().getSimpleName());
      }
    });
    awaitWaiting(before + 1);
    return thread;
  }

  private void request(PreparationLimiter limiter, String name, long bytes) {
    request(limiter, name, bytes, Cancellation.NONE);
  }

  private int waiting() {
    return (int) TestMetrics.sum(registry, "kvasir_preparations_waiting");
  }

  private void awaitWaiting(int count) {
    while (waiting() != count) {
      Thread.onSpinWait();
    }
  }

  private List<String> serve(int count) throws InterruptedException {
    List<String> names = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      names.add(served.take());
    }
    return names;
  }

  @Test
  void acquire_permitsAreFree_doesNotWait() throws Exception {
    PreparationLimiter limiter = limiter(2, LONG);
    try (Permit first = limiter.acquire(MIB, Cancellation.NONE);
        Permit second = limiter.acquire(MIB, Cancellation.NONE)) {
      first.checkpoint();
      second.checkpoint();
      assertThat(limiter.tryAcquire(MIB)).isNull();
    }
    assertThat(limiter.tryAcquire(MIB)).isNotNull();
    assertThat(TestMetrics.sum(registry, "kvasir_preparation_wait_seconds")).isZero();
  }

  @Test
  void acquire_smallRequest_needsNoPermit() throws Exception {
    PreparationLimiter limiter = limiter(1, LONG);
    try (Permit _ = limiter.acquire(MIB, Cancellation.NONE)) {
      for (int i = 0; i < 3; i++) {
        limiter.acquire(SMALL, Cancellation.NONE).checkpoint();
      }
    }
    long before = clock.readings();
    limiter.acquire(SMALL, Cancellation.NONE).close();
    assertThat(clock.readings()).isEqualTo(before);
  }

  @Test
  void close_requestsWait_smallestGoesFirstAndEveryFourthTurnIsTheOldest() throws Exception {
    PreparationLimiter limiter = limiter(1, LONG);
    try (Permit _ = limiter.acquire(MIB, Cancellation.NONE)) {
      request(limiter, "32 MiB", 32 * MIB);
      request(limiter, "4 MiB", 4 * MIB);
      request(limiter, "1 MiB", MIB);
      request(limiter, "20 KiB", 20 * KIB);
      request(limiter, "2 MiB", 2 * MIB);
      request(limiter, "another 1 MiB", MIB);
      assertThat(served).isEmpty();
    }
    assertThat(serve(6)).containsExactly("20 KiB", "1 MiB", "another 1 MiB", "32 MiB", "2 MiB", "4 MiB");
    assertThat(TestMetrics.sum(registry, "kvasir_preparation_wait_seconds", "prepared")).isEqualTo(6);
  }

  @Test
  void acquire_noTurnInTime_isRefused() throws Exception {
    PreparationLimiter limiter = limiter(1, Duration.ofMillis(1));
    try (Permit _ = limiter.acquire(MIB, Cancellation.NONE)) {
      assertThatThrownBy(() -> limiter.acquire(MIB, Cancellation.NONE)).isInstanceOf(OverloadException.class)
          .hasMessageContaining("1 ms");
      assertThat(waiting()).isZero();
    }
    limiter.acquire(MIB, Cancellation.NONE).close();
    assertThat(TestMetrics.sum(registry, "kvasir_preparation_wait_seconds", "refused")).isEqualTo(1);
  }

  @Test
  void acquire_tooManyWait_isRefusedAtOnce() throws Exception {
    PreparationLimiter limiter = limiter(1, LONG);
    CancellationSource all = new CancellationSource();
    try (Permit _ = limiter.acquire(MIB, Cancellation.NONE)) {
      for (int i = 0; i < 1024; i++) {
        Thread.ofVirtual().start(() -> {
          try (Permit _ = limiter.acquire(MIB, all)) {
            served.add("served");
          } catch (OverloadException | CancellationException | InterruptedException e) {
            served.add(e.getClass().getSimpleName());
          }
        });
      }
      awaitWaiting(1024);
      assertThatThrownBy(() -> limiter.acquire(MIB, Cancellation.NONE)).isInstanceOf(OverloadException.class);
      all.cancel();
      assertThat(serve(1024)).containsOnly("CancellationException");
      assertThat(waiting()).isZero();
    }
    limiter.acquire(MIB, Cancellation.NONE).close();
  }

  @Test
  void acquire_clientLeavesOrThreadIsInterrupted_leavesTheQueue() throws Exception {
    PreparationLimiter limiter = limiter(1, LONG);
    CancellationSource client = new CancellationSource();
    try (Permit _ = limiter.acquire(MIB, Cancellation.NONE)) {
      request(limiter, "a", MIB, client);
      Thread b = request(limiter, "b", MIB, Cancellation.NONE);
      request(limiter, "c", MIB, Cancellation.NONE);
      client.cancel();
      assertThat(serve(1)).containsExactly("a CancellationException");
      b.interrupt();
      assertThat(serve(1)).containsExactly("b InterruptedException");
      assertThat(waiting()).isEqualTo(1);
    }
    assertThat(serve(1)).containsExactly("c");
    assertThat(TestMetrics.sum(registry, "kvasir_preparation_wait_seconds", "cancelled")).isEqualTo(2);
  }

  @Test
  void acquire_clientHasLeftBefore_isNotServed() throws Exception {
    PreparationLimiter limiter = limiter(1, LONG);
    CancellationSource client = new CancellationSource();
    client.cancel();
    try (Permit _ = limiter.acquire(MIB, Cancellation.NONE)) {
      assertThatThrownBy(() -> limiter.acquire(MIB, client)).isInstanceOf(CancellationException.class);
    }
    limiter.acquire(MIB, Cancellation.NONE).close();
  }

  @Test
  void checkpoint_smallerOnesWait_letsThemGoFirstAndNoLargerOnes() throws Exception {
    PreparationLimiter limiter = limiter(1, LONG);
    try (Permit permit = limiter.acquire(8 * MIB, Cancellation.NONE)) {
      request(limiter, "16 MiB", 16 * MIB);
      permit.checkpoint();
      assertThat(served).isEmpty();
      request(limiter, "1 MiB", MIB);
      request(limiter, "2 MiB", 2 * MIB);
      permit.checkpoint();
      assertThat(serve(2)).containsExactly("1 MiB", "2 MiB");
      assertThat(limiter.tryAcquire(MIB)).as("it has its permit again").isNull();
      assertThat(served).isEmpty();
    }
    assertThat(serve(1)).containsExactly("16 MiB");
    assertThat(TestMetrics.sum(registry, "kvasir_preparation_pauses")).isEqualTo(1);
  }

  @Test
  void checkpoint_smallerOnesKeepComing_itGoesOnBeforeThoseThatHaveNotBegun() throws Exception {
    PreparationLimiter limiter = limiter(1, LONG);
    try (Permit permit = limiter.acquire(8 * MIB, Cancellation.NONE)) {
      request(limiter, "16 MiB", 16 * MIB);
      for (int i = 1; i <= 5; i++) {
        request(limiter, i + " MiB", i * MIB);
      }
      permit.checkpoint();
      assertThat(serve(3)).containsExactly("1 MiB", "2 MiB", "3 MiB");
      assertThat(served).as("its turn was the fourth").isEmpty();
    }
    assertThat(serve(3)).containsExactly("4 MiB", "5 MiB", "16 MiB");
  }

  @Test
  void checkpoint_clientHasLeft_endsTheWork() throws Exception {
    PreparationLimiter limiter = limiter(1, LONG);
    CancellationSource client = new CancellationSource();
    try (Permit permit = limiter.acquire(8 * MIB, client)) {
      permit.checkpoint();
      client.cancel();
      assertThatThrownBy(permit::checkpoint).isInstanceOf(CancellationException.class);
    }
    limiter.acquire(MIB, Cancellation.NONE).close();
  }

  @Test
  void close_twice_releasesOnce() throws Exception {
    PreparationLimiter limiter = limiter(1, LONG);
    Permit permit = limiter.acquire(MIB, Cancellation.NONE);
    permit.close();
    permit.close();
    assertThat(limiter.tryAcquire(MIB)).isNotNull();
    assertThat(limiter.tryAcquire(MIB)).isNull();
  }

  @Test
  void acquire_byManyThreads_neverMoreThanThePermitsAndNoneIsLost() throws Exception {
    int permits = 3;
    int threads = 16;
    PreparationLimiter limiter = limiter(permits, LONG);
    AtomicInteger running = new AtomicInteger();
    AtomicInteger most = new AtomicInteger();
    CountDownLatch done = new CountDownLatch(threads);
    for (int t = 0; t < threads; t++) {
      SplittableRandom random = new SplittableRandom(t);
      Thread.ofPlatform().daemon().start(() -> {
        for (int i = 0; i < 2_000; i++) {
          CancellationSource client = new CancellationSource();
          if (random.nextInt(4) == 0) {
            Thread.ofVirtual().start(client::cancel);
          }
          try (Permit permit = limiter.acquire(random.nextLong(SMALL + 1, MIB), client)) {
            most.accumulateAndGet(running.incrementAndGet(), Math::max);
            running.decrementAndGet();
            permit.checkpoint();
            most.accumulateAndGet(running.incrementAndGet(), Math::max);
            running.decrementAndGet();
          } catch (CancellationException e) {
            // It has left.
          } catch (OverloadException | InterruptedException e) {
            throw new AssertionError(e);
          }
        }
        done.countDown();
      });
    }
    done.await();
    assertThat(most.get()).isBetween(1, permits);
    assertThat(waiting()).isZero();
    for (int i = 0; i < permits; i++) {
      assertThat(limiter.tryAcquire(MIB)).isNotNull();
    }
    assertThat(limiter.tryAcquire(MIB)).isNull();
  }
}
