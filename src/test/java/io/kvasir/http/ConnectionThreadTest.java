package io.kvasir.http;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.Await;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Where requests run, and what they do not hold up. */
final class ConnectionThreadTest {
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
  void waitForTheNetwork_endsOnTheConnectionsThread() throws Exception {
    CountDownLatch waited = new CountDownLatch(1);
    AtomicBoolean come = new AtomicBoolean();
    ConnectionThread thread = new ConnectionThread(connection::add);
    thread.start("test", () -> awaitBytes(thread, come, waited), true);
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

  private void awaitBytes(ConnectionThread thread, AtomicBoolean come, CountDownLatch waited) {
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

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void parkedThread_goesOnOnTheConnectionsThread_ifItsWorkIsBrief(boolean brief) throws Exception {
    CountDownLatch parked = new CountDownLatch(1);
    CountDownLatch woken = new CountDownLatch(1);
    AtomicBoolean come = new AtomicBoolean();
    CompletableFuture<Thread> self = new CompletableFuture<>();
    new ConnectionThread(connection::add)
        .start(
            "test",
            () -> {
              self.complete(Thread.currentThread());
              parked.countDown();
              while (!come.get()) {
                ConnectionThread.park(this);
              }
              woken.countDown();
            },
            brief);
    if (brief) {
      turn();
    }
    parked.await();
    Await.await(() -> self.join().getState() == Thread.State.WAITING);
    assertThat(connection).isEmpty();

    come.set(true);
    LockSupport.unpark(self.get());
    if (brief) {
      assertThat(woken.getCount()).isOne();
      turn();
    }
    assertThat(woken.await(60, TimeUnit.SECONDS)).isTrue();
    assertThat(connection).isEmpty();
  }

  @Test
  void ordinaryThread_parksToo() throws Exception {
    AtomicBoolean come = new AtomicBoolean();
    Thread ordinary = Thread.ofPlatform().start(() -> {
      while (!come.get()) {
        ConnectionThread.park(this);
      }
    });
    Await.await(() -> ordinary.getState() == Thread.State.WAITING);
    come.set(true);
    LockSupport.unpark(ordinary);
    ordinary.join();
  }

  @Test
  void threadStartedByOneOfAConnection_isOfThatConnection() throws Exception {
    CountDownLatch done = new CountDownLatch(1);
    new ConnectionThread(connection::add)
        .start("test", () -> ConnectionThread.startOnCurrent("other", done::countDown, true), true);
    turn();
    assertThat(done.getCount()).isOne();
    turn();
    assertThat(done.getCount()).isZero();
  }

  @Test
  void threadStartedByAnother_isOrdinary() throws Exception {
    CountDownLatch done = new CountDownLatch(1);
    ConnectionThread.startOnCurrent("other", done::countDown, true);
    assertThat(done.await(60, TimeUnit.SECONDS)).isTrue();
  }
}
