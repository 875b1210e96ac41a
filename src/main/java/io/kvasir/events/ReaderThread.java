package io.kvasir.events;

import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A virtual thread that reads a transport until it is stopped, and then ends the queues that it fills. They are ended
 * while it is not interrupted and will not be: a message from an interrupted thread to a stream that is still being
 * started is lost, and that stream would never end. Thread-safe.
 */
final class ReaderThread {
  private static final Logger LOG = LoggerFactory.getLogger(ReaderThread.class);

  /** What the thread does until it is stopped. */
  @FunctionalInterface
  interface ReadLoop {
    /**
     * Reads while the thread is not {@link #stopped}.
     *
     * @throws InterruptedException when it is stopped while waiting
     */
    void run() throws InterruptedException;
  }

  private final ReadLoop reading;
  private final Consumer<@Nullable Throwable> end;
  private final Thread thread;
  private volatile boolean stopped;

  /** Whether the queues are being ended; guarded by this. */
  private boolean ending;

  /**
   * A thread that is not started.
   *
   * @param end ends the queues; called on the thread, once, with what reading failed with, null when it did not
   */
  ReaderThread(String name, ReadLoop reading, Consumer<@Nullable Throwable> end) {
    this.reading = reading;
    this.end = end;
    this.thread = Thread.ofVirtual().name(name).unstarted(this::run);
  }

  void start() {
    thread.start();
  }

  /** Has the thread end, interrupting it where it waits; does not wait for that. Idempotent. */
  synchronized void stop() {
    stopped = true;
    if (!ending) {
      thread.interrupt();
    }
  }

  boolean stopped() {
    return stopped;
  }

  private void run() {
    Throwable failure = null;
    try {
      reading.run();
    } catch (InterruptedException stoppedWhileWaiting) {
      // It ends below, as it would have without waiting.
    } catch (RuntimeException | Error failed) {
      LOG.error("{} failed", thread.getName(), failed);
      failure = failed;
    }
    synchronized (this) {
      ending = true;
    }
    boolean _ = Thread.interrupted();
    end.accept(failure);
  }
}
