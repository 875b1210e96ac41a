package io.kvasir.app.node;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.app.config.KvasirConfig.WarmUpConfig;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/** When a warm-up is over. */
final class WarmUpTest {
  private static final Duration HOUR = Duration.ofHours(1);
  private static final WarmUp.Workload HANGING = (_, _) -> new CountDownLatch(1).await();

  private final CountDownLatch closed = new CountDownLatch(1);

  @Test
  void begun_isAnObstacle_untilTheWorkloadEnds() throws Exception {
    CountDownLatch end = new CountDownLatch(1);
    WarmUp warmUp = warmUp(HOUR);
    assertThat(warmUp.obstacle()).hasValueSatisfying(why -> assertThat(why.what()).contains("warming up"));

    warmUp.begin(closing((_, _) -> end.await()));
    assertThat(warmUp.obstacle()).isPresent();

    end.countDown();
    closed.await();
    awaitOver(warmUp);
  }

  @Test
  void workloadThatFails_isOver_andClosesWhatItOpened() throws Exception {
    WarmUp warmUp = warmUp(HOUR);
    warmUp.begin(closing((_, _) -> {
      throw new IllegalStateException("the engine does not start");
    }));
    closed.await();
    awaitOver(warmUp);
  }

  @Test
  void workloadThatHangs_isOverAtTheLimit_interruptedAndClosed() throws Exception {
    WarmUp warmUp = warmUp(Duration.ofMillis(1));
    warmUp.begin(closing(HANGING));
    awaitOver(warmUp);
    closed.await();
  }

  @Test
  void workloadThatCannotBeInterrupted_isOverAtTheLimit() throws Exception {
    CompletableFuture<Void> end = new CompletableFuture<>();
    WarmUp warmUp = warmUp(Duration.ofMillis(1));
    warmUp.begin(closing((_, _) -> end.join()));
    awaitOver(warmUp);
    assertThat(closed.getCount()).isOne();
    end.complete(null);
    closed.await();
  }

  @Test
  void closeOfTheNode_endsIt() throws Exception {
    WarmUp warmUp = warmUp(HOUR);
    warmUp.begin(closing(HANGING));
    warmUp.close();
    assertThat(warmUp.obstacle()).isEmpty();
    closed.await();
  }

  @Test
  void closeOfTheNode_waitsUntilWhatItOpenedIsClosed() throws Exception {
    CountDownLatch release = new CountDownLatch(1);
    WarmUp warmUp = warmUp(HOUR);
    warmUp.begin(closing((resources, limit) -> {
      resources.own(release::await);
      HANGING.run(resources, limit);
    }));
    Thread node = Thread.ofPlatform().start(warmUp::close);
    await("the wait of the node", () -> node.getState() == Thread.State.TIMED_WAITING);
    assertThat(closed.getCount()).isOne();

    release.countDown();
    node.join();
    assertThat(closed.getCount()).isZero();
  }

  @Test
  void disabled_isOver_andDoesNotBegin() {
    AtomicBoolean begun = new AtomicBoolean();
    WarmUp warmUp = new WarmUp(new WarmUpConfig(false, HOUR));
    assertThat(warmUp.obstacle()).isEmpty();
    warmUp.begin((_, _) -> begun.set(true));
    assertThat(begun).isFalse();
  }

  private WarmUp.Workload closing(WarmUp.Workload workload) {
    return (resources, limit) -> {
      resources.own(closed::countDown);
      workload.run(resources, limit);
    };
  }

  private static WarmUp warmUp(Duration limit) {
    return new WarmUp(new WarmUpConfig(true, limit));
  }

  private static void awaitOver(WarmUp warmUp) {
    await("the end of the warm-up", () -> warmUp.obstacle().isEmpty());
  }
}
