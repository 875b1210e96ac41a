package io.kvasir.cell.worker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvasir.index.Chain;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

final class SendOrderTest {
  private static final long LONG = TimeUnit.SECONDS.toNanos(30);

  private final SendOrder order = new SendOrder();

  private static Chain chain(long... hashes) {
    return new Chain(hashes, 16);
  }

  @Test
  void aRequestWithoutAnEarlierOneGoesAtOnce() throws InterruptedException {
    assertTrue(order.add(chain(1, 2)).awaitEarlier(0, 0));
  }

  @Test
  void aRequestWaitsForAnEarlierOneThatHasTheBlockAndIsNotSent() throws InterruptedException {
    SendOrder.Place first = order.add(chain(1, 2, 3));
    SendOrder.Place second = order.add(chain(1, 2, 4));

    assertFalse(second.awaitEarlier(1, 0));
    assertTrue(second.hasEarlier(1));
    assertFalse(second.hasEarlier(2));
    assertFalse(first.hasEarlier(1));
    assertFalse(second.awaitEarlier(1, TimeUnit.MILLISECONDS.toNanos(1)));
    first.leave();
    assertTrue(second.awaitEarlier(1, 0));
    assertFalse(second.hasEarlier(1));
  }

  @Test
  void aRequestDoesNotWaitForOthersPromptsNorForLaterOnes() throws InterruptedException {
    order.add(chain(1, 2, 3));
    order.add(chain(1));
    SendOrder.Place request = order.add(chain(1, 7, 8));
    order.add(chain(1, 7, 8));

    assertTrue(request.awaitEarlier(1, 0));
    assertTrue(request.awaitEarlier(2, 0));
    assertTrue(request.awaitEarlier(3, 0));
  }

  @Test
  void whoWaitsGoesOnWhenTheEarlierOneIsSent() throws InterruptedException {
    List<SendOrder.Place> requests = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      requests.add(order.add(chain(1, 2, 100 + i)));
    }
    ConcurrentLinkedQueue<Integer> sent = new ConcurrentLinkedQueue<>();
    List<Thread> threads = new ArrayList<>();
    for (int i = requests.size() - 1; i > 0; i--) {
      int number = i;
      threads.add(Thread.ofVirtual().start(() -> {
        try {
          if (requests.get(number).awaitEarlier(1, LONG)) {
            sent.add(number);
            requests.get(number).leave();
          }
        } catch (InterruptedException e) {
          Thread.currentThread().interrupt();
        }
      }));
    }
    requests.getFirst().leave();
    for (Thread thread : threads) {
      thread.join();
    }
    assertEquals(LongStream.range(1, 20).mapToObj(Math::toIntExact).toList(), List.copyOf(sent));
  }

  @Test
  void ofTooManyTheOldestAreForgotten() throws InterruptedException {
    SendOrder.Place oldest = order.add(chain(1));
    for (int i = 0; i < 255; i++) {
      order.add(chain(2));
    }
    SendOrder.Place request = order.add(chain(1));

    assertTrue(request.awaitEarlier(0, 0));
    oldest.leave();
    SendOrder.Place next = order.add(chain(1));
    assertFalse(next.awaitEarlier(0, 0), "an old one that ends does not end the one in its place");
  }

  @Test
  void anInterruptEndsTheWait() throws InterruptedException {
    order.add(chain(1));
    SendOrder.Place request = order.add(chain(1));
    CountDownLatch interrupted = new CountDownLatch(1);
    Thread waiting = Thread.ofVirtual().start(() -> {
      try {
        request.awaitEarlier(0, LONG);
      } catch (InterruptedException expected) {
        interrupted.countDown();
      }
    });
    waiting.interrupt();
    waiting.join();
    assertEquals(0, interrupted.getCount());
  }
}
