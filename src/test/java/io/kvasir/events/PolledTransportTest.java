package io.kvasir.events;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/** A transport that only this file knows: a log in memory, which a feed of its own has polled. */
final class PolledTransportTest extends SourceConformance {
  private final Log log = new Log();

  @Override
  EventSource source() {
    return open(new LogFeed(log), 0, 1);
  }

  @Override
  void publish(long number, byte[] payload) {
    log.append(new Entry(number, payload));
  }

  private record Entry(long number, byte[] payload) {}

  private static final class Log {
    private final List<Entry> entries = new CopyOnWriteArrayList<>();
    private final Semaphore appended = new Semaphore(0);

    void append(Entry entry) {
      entries.add(entry);
      appended.release();
    }
  }

  private record LogFeed(Log log) implements EventFeed {
    @Override
    public String kind() {
      return "test";
    }

    @Override
    public boolean direct() {
      return false;
    }

    @Override
    public EventSource open(WorkerAddress worker, EventTransports transports) {
      return transports.polled("log", "the log of " + worker.id(), () -> new LogTransport(log));
    }
  }

  private static final class LogTransport implements Puller.Transport {
    private final Log log;
    private int next;

    LogTransport(Log log) {
      this.log = log;
    }

    @Override
    public Puller.Session open(Inbox inbox) {
      inbox.connected(true);
      return new Puller.Session() {
        @Override
        public void poll() throws InterruptedException {
          if (next == log.entries.size()) {
            inbox.caughtUp();
            boolean _ = log.appended.tryAcquire(10, TimeUnit.MILLISECONDS);
          } else {
            Entry entry = log.entries.get(next++);
            inbox.message(entry.number(), entry.payload());
          }
        }

        @Override
        public void close() {
          // The log stays.
        }
      };
    }
  }
}
