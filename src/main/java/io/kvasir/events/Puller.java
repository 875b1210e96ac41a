package io.kvasir.events;

import java.io.IOException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The reader of one subscription, for a transport that is polled: on a virtual thread of its own it opens a session,
 * polls it while the queue has room, and opens another when one fails, after growing pauses.
 */
final class Puller {
  private static final Logger LOG = LoggerFactory.getLogger(Puller.class);
  private static final long MIN_PAUSE_MILLIS = 50;
  private static final long MAX_PAUSE_MILLIS = 2000;

  /** A transport of one worker's events. */
  @FunctionalInterface
  interface Transport {
    /**
     * Connects. May block, for seconds at most.
     *
     * @throws Exception when it cannot connect now; it is tried again
     */
    Session open(Inbox inbox) throws Exception;

    /** Releases what its sessions share. Called once, after the last of them; none follows. */
    default void close() {}
  }

  /** A connection that is polled. */
  interface Session extends AutoCloseable {
    /**
     * Waits for messages, a few seconds at most, and puts them into the inbox.
     *
     * @throws Exception when the connection is lost; the session is then closed and another one opened
     */
    void poll() throws Exception;

    @Override
    void close() throws IOException;
  }

  private final String description;
  private final Transport transport;
  private final BatchQueue queue;
  private final Inbox inbox;
  private final Semaphore room = new Semaphore(0);
  private final ReaderThread reader;

  private Puller(String description, Transport transport, BatchQueue queue, EventMetrics.SourceMetrics metrics) {
    this.description = description;
    this.transport = transport;
    this.queue = queue;
    this.inbox = new Inbox(queue, metrics);
    this.reader = new ReaderThread("kvasir-events-" + description, this::pull, this::end);
  }

  /**
   * Begins to fill a queue.
   *
   * @param description what is read, for the log
   * @return a function that ends the subscription, without waiting for a poll under way
   */
  static Runnable start(String description, Transport transport, BatchQueue queue, EventMetrics.SourceMetrics metrics) {
    Puller puller = new Puller(description, transport, queue, metrics);
    queue.onSpace(puller.room::release);
    puller.reader.start();
    return puller.reader::stop;
  }

  private void pull() throws InterruptedException {
    long pause = MIN_PAUSE_MILLIS;
    while (!reader.stopped()) {
      try (Session session = transport.open(inbox)) {
        pause = MIN_PAUSE_MILLIS;
        read(session);
      } catch (InterruptedException e) {
        break;
      } catch (Exception e) {
        if (reader.stopped()) {
          break;
        }
        if (pause == MIN_PAUSE_MILLIS) {
          LOG.warn("{}: cannot connect, retrying: {}", description, e.toString());
        }
        inbox.disconnected();
        // Random, so that the many workers of one lost server do not reconnect at once.
        TimeUnit.MILLISECONDS.sleep(pause / 2 + ThreadLocalRandom.current().nextLong(pause));
        pause = Math.min(MAX_PAUSE_MILLIS, 2 * pause);
      }
    }
  }

  private void read(Session session) throws Exception {
    while (!reader.stopped()) {
      while (queue.full()) {
        room.acquire();
      }
      session.poll();
    }
  }

  private void end(@Nullable Throwable failure) {
    try {
      inbox.close();
      transport.close();
    } finally {
      queue.end(failure);
    }
  }
}
