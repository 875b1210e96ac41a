package io.kvasir.picker;

import io.kvasir.http.ConnectionThread;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.Await;
import java.net.URI;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Where requests of gateways run, and what they do not hold up. */
final class ConnectionThreadTest {
  private static final String CHAT = "/v1/chat/completions";
  private static final String BODY = "{\"model\":\"m\",\"messages\":[]}";

  /** A connection's thread that runs what it is given when the test says so. */
  private final BlockingQueue<Runnable> connection = new LinkedBlockingQueue<>();

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();

  /** Runs what the connection is given next. */
  private void turn() throws InterruptedException {
    Runnable next = connection.poll(60, TimeUnit.SECONDS);
    assertThat(next).isNotNull();
    next.run();
  }

  @Test
  void jvmOfTests_supportsIt() {
    assertThat(ConnectionThread.isSupported()).isTrue();
  }

  @Test
  void waitForTheProxy_endsOnTheConnectionsThread() throws Exception {
    CountDownLatch waited = new CountDownLatch(1);
    AtomicBoolean come = new AtomicBoolean();
    ConnectionThread thread = new ConnectionThread(connection::add);
    thread.start("test", () -> awaitProxy(thread, come, waited), true);
    turn();
    assertThat(connection).isEmpty();

    lock.lock();
    try {
      come.set(true);
      changed.signalAll();
    } finally {
      lock.unlock();
    }
    assertThat(waited.getCount()).isOne();
    turn();
    assertThat(waited.await(60, TimeUnit.SECONDS)).isTrue();
    assertThat(connection).isEmpty();
  }

  private void awaitProxy(ConnectionThread thread, AtomicBoolean come, CountDownLatch waited) {
    lock.lock();
    try {
      while (!come.get()) {
        thread.await(changed, true);
      }
      waited.countDown();
    } catch (InterruptedException stopping) {
      Thread.currentThread().interrupt();
    } finally {
      lock.unlock();
    }
  }

  /** The connection's thread, which is this one, could not help it out of the wait for the other lock. */
  @Test
  void holderOfALockThatTheConnectionWaitsFor_goesOn() throws Exception {
    ReentrantLock other = new ReentrantLock();
    AtomicBoolean held = new AtomicBoolean();
    CountDownLatch mayRelease = new CountDownLatch(1);
    Thread holder = Thread.ofPlatform().start(() -> {
      other.lock();
      try {
        held.set(true);
        mayRelease.await();
      } catch (InterruptedException stopping) {
        Thread.currentThread().interrupt();
      } finally {
        other.unlock();
      }
    });
    Await.await(held::get);
    new ConnectionThread(connection::add)
        .start("test", () -> {
              lock.lock();
              try {
                other.lockInterruptibly();
                other.unlock();
              } catch (InterruptedException stopping) {
                Thread.currentThread().interrupt();
              } finally {
                lock.unlock();
              }
            },
            true);
    turn();
    assertThat(lock.isLocked()).isTrue();

    mayRelease.countDown();
    assertThat(lock.tryLock(60, TimeUnit.SECONDS)).isTrue();
    lock.unlock();
    assertThat(connection).isEmpty();
    holder.join();
  }

  @Test
  void workThatIsNotBrief_doesNotBeginOnTheConnectionsThread() throws Exception {
    CountDownLatch done = new CountDownLatch(1);
    new ConnectionThread(connection::add).start("test", done::countDown, false);

    assertThat(done.await(60, TimeUnit.SECONDS)).isTrue();
    assertThat(connection).isEmpty();
  }

  @Test
  void leavingTheConnection_goesOnElsewhere() throws Exception {
    CountDownLatch left = new CountDownLatch(1);
    new ConnectionThread(connection::add)
        .start("test", () -> {
              ConnectionThread.leaveConnection();
              left.countDown();
            },
            true);
    turn();

    assertThat(left.await(60, TimeUnit.SECONDS)).isTrue();
    assertThat(connection).isEmpty();
  }

  @Test
  void connectionWhoseThreadHasEnded_isDoneWithout() throws Exception {
    ExecutorService ended = Executors.newSingleThreadExecutor();
    ended.shutdownNow();
    CountDownLatch done = new CountDownLatch(1);
    new ConnectionThread(ended).start("test", done::countDown, true);

    assertThat(done.await(60, TimeUnit.SECONDS)).isTrue();
  }

  /** A gateway has one connection for all requests of one of its threads. */
  @Test
  void requestThatWaits_holdsUpNoOtherOfItsConnection() throws Exception {
    try (TestPicker picker = new TestPicker(TestPicker.SETTINGS)) {
      picker.cells.worker("a", URI.create("http://10.0.0.1:8000"), "m");
      CountDownLatch released = new CountDownLatch(1);
      AtomicBoolean first = new AtomicBoolean(true);
      picker.cells.deciding = () -> {
        if (first.getAndSet(false)) {
          Await.await(() -> released.getCount() == 0);
        }
      };
      TestStream waiting = picker.stream().head("POST", CHAT, false).body(BODY, true);
      Await.await(() -> !first.get());
      TestStream other = picker.stream().head("POST", CHAT, false).body(BODY, true);
      other.destined();
      assertThat(other.echo()).isEqualTo(BODY);
      assertThat(waiting.hasReply()).isFalse();

      released.countDown();
      waiting.destined();
      waiting.cancel();
      other.cancel();
      Await.await(() -> picker.cells.open.get() == 0);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {100, 15_000, 17_000, 200_000})
  void request_isDecidedOnItsConnectionsThread_whereItIsShort(int length) throws Exception {
    try (TestPicker picker = new TestPicker(TestPicker.SETTINGS)) {
      picker.cells.worker("a", URI.create("http://10.0.0.1:8000"), "m");
      AtomicReference<String> decider = new AtomicReference<>("");
      picker.cells.deciding = () -> decider.set(Thread.currentThread().toString());
      String body = BODY + " ".repeat(length - BODY.length());
      TestStream stream = picker.stream().head("POST", CHAT, false).body(body, true);
      stream.destined();
      assertThat(stream.echo()).isEqualTo(body);

      // The JVM writes who carries a virtual thread behind its name.
      assertThat(String.valueOf(decider.get()).contains("@ForkJoinPool")).isEqualTo(length > 16 << 10);
      stream.cancel();
      Await.await(() -> picker.cells.open.get() == 0);
    }
  }
}
