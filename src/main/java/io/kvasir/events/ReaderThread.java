package io.kvasir.events;

/**
 * A virtual thread that reads a transport until it is stopped, and then ends the queues that it fills. They are ended
 * while it is not interrupted and will not be: a message from an interrupted thread to a stream that is still being
 * started is lost, and that stream would never end. Thread-safe.
 */
final class ReaderThread {
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
  private final Runnable end;
  private final Thread thread;
  private volatile boolean stopped;

  /** Whether the queues are being ended; guarded by this. */
  private boolean ending;

  /**
   * A thread that is not started.
   *
   * @param end ends the queues; called on the thread, once, also when reading failed
   */
  ReaderThread(String name, ReadLoop reading, Runnable end) {
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
    try {
      reading.run();
    } catch (InterruptedException stoppedWhileWaiting) {
      // It ends below, as it would have without waiting.
    } finally {
      synchronized (this) {
        ending = true;
      }
      boolean _ = Thread.interrupted();
      end.run();
    }
  }
}
