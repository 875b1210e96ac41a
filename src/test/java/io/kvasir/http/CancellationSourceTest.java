package io.kvasir.http;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A cancellation happens once, and every action that waits for it runs once or never. */
@Tag("lock-free")
final class CancellationSourceTest {
  private final CancellationSource source = new CancellationSource();
  private final List<String> ran = new ArrayList<>();

  @Test
  void cancel_runsTheActionsInOrder_once() {
    source.onCancelled(() -> ran.add("first"));
    source.onCancelled(() -> ran.add("second"));
    assertThat(source.isCancelled()).isFalse();
    source.cancel();
    source.cancel();
    assertThat(source.isCancelled()).isTrue();
    assertThat(ran).containsExactly("first", "second");
  }

  @Test
  void action_thatComesAfterTheCancellation_runsAtOnce() {
    source.cancel();
    source.onCancelled(() -> ran.add("late")).close();
    assertThat(ran).containsExactly("late");
  }

  @Test
  void closedRegistration_isForgotten() {
    Runnable action = () -> ran.add("one of two");
    Cancellation.Registration first = source.onCancelled(action);
    source.onCancelled(action);
    first.close();
    first.close();
    source.cancel();
    first.close();
    assertThat(ran).containsExactly("one of two");
  }

  @Test
  void closedSource_isNeverCancelled() {
    source.onCancelled(() -> ran.add("before"));
    source.close();
    source.cancel();
    source.onCancelled(() -> ran.add("after"));
    assertThat(source.isCancelled()).isFalse();
    assertThat(ran).isEmpty();
  }

  @Test
  void close_afterTheCancellation_changesNothing() {
    source.cancel();
    source.close();
    assertThat(source.isCancelled()).isTrue();
  }

  @Test
  void failingAction_doesNotKeepTheNextFromRunning() {
    source.onCancelled(() -> {
      throw new IllegalStateException("an action that fails");
    });
    source.onCancelled(() -> ran.add("next"));
    source.cancel();
    assertThat(ran).containsExactly("next");
  }

  @Test
  void action_mayRegisterAnother_andLinkAnotherSource() {
    CancellationSource child = new CancellationSource();
    child.onCancelled(() -> ran.add("child"));
    source.onCancelled(child::cancel);
    source.onCancelled(() -> source.onCancelled(() -> ran.add("within")));
    source.cancel();
    assertThat(ran).containsExactly("child", "within");
  }

  @Test
  void none_isNeverCancelled() {
    Cancellation.NONE.onCancelled(() -> ran.add("never")).close();
    assertThat(Cancellation.NONE.isCancelled()).isFalse();
    assertThat(ran).isEmpty();
  }

  @Test
  void whateverTheRace_everyActionRunsExactlyOnce() throws InterruptedException {
    for (int round = 0; round < 500; round++) {
      CancellationSource raced = new CancellationSource();
      AtomicInteger runs = new AtomicInteger();
      CountDownLatch go = new CountDownLatch(1);
      List<Thread> threads = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        boolean cancels = i % 2 == 0;
        threads.add(Thread.ofVirtual().start(() -> {
          awaitQuietly(go);
          if (cancels) {
            raced.cancel();
          } else {
            raced.onCancelled(runs::incrementAndGet);
          }
        }));
      }
      go.countDown();
      for (Thread thread : threads) {
        thread.join();
      }
      assertThat(runs).hasValue(2);
    }
  }

  private static void awaitQuietly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
