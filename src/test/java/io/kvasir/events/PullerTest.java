package io.kvasir.events;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.pekko.Done;
import org.junit.jupiter.api.Test;

/** How a polled subscription ends. */
final class PullerTest extends TransportFixture {
  private final EventMetrics.SourceMetrics polled = metrics.of("polled");

  /** An interrupted thread cannot send to a stream that is still being started. */
  @Test
  void theEnd_isNotedByAThreadThatIsNotInterrupted() throws Exception {
    CompletableFuture<Boolean> interruptedAtTheEnd = new CompletableFuture<>();
    BatchQueue queue = new BatchQueue(
        () -> interruptedAtTheEnd.complete(Thread.currentThread().isInterrupted()), polled);
    CountDownLatch polling = new CountDownLatch(1);
    CountDownLatch closed = new CountDownLatch(1);
    Runnable close = Puller.start("a test", _ -> new Session(() -> {
      polling.countDown();
      awaitInterrupted(closed);
    }), queue, polled);
    polling.await();
    close.run();
    closed.countDown();
    assertThat(interruptedAtTheEnd.get(60, TimeUnit.SECONDS)).isFalse();
    close.run();
    assertThat(queue.exhausted()).isTrue();
  }

  @Test
  void aSubscriptionAfterTheTransportsWereClosed_endsWithoutATransport() throws Exception {
    EventSource source = transports.polled("polled", "a test", () -> {
      throw new AssertionError("a transport was made");
    });
    transports.close();
    assertThat(subscribe(source).finished()).isEqualTo(Done.getInstance());
  }

  /** Returns with the thread interrupted, as a transport does that is interrupted where it need not stop. */
  private static void awaitInterrupted(CountDownLatch latch) {
    while (latch.getCount() > 0 || !Thread.currentThread().isInterrupted()) {
      Thread.onSpinWait();
    }
  }

  private record Session(Runnable polling) implements Puller.Session {
    @Override
    public void poll() {
      polling.run();
    }

    @Override
    public void close() throws IOException {
      // Nothing is open.
    }
  }
}
