package io.kvasir.events;

import java.io.IOException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The reader of one subscription, for a transport that is polled: on a virtual thread of its own it opens a session,
 * polls it while the queue has room, and opens another when one fails, after growing pauses.
 */
final class Puller implements Runnable {
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
  private final Thread thread;
  private volatile boolean closed;

  private Puller(String description, Transport transport, BatchQueue queue, EventMetrics.SourceMetrics metrics) {
    this.description = description;
    this.transport = transport;
    this.queue = queue;
    this.inbox = new Inbox(queue, metrics);
    this.thread = Thread.ofVirtual().name("kvasir-events-" + description).unstarted(this);
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
    puller.thread.start();
    return puller::close;
  }

  private void close() {
    closed = true;
    thread.interrupt();
  }

  @Override
  public void run() {
    try {
      long pause = MIN_PAUSE_MILLIS;
      while (!closed) {
        try (Session session = transport.open(inbox)) {
          pause = MIN_PAUSE_MILLIS;
          read(session);
        } catch (InterruptedException e) {
          break;
        } catch (Exception e) {
          if (closed) {
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
    } catch (InterruptedException e) {
      // Closed while it was waiting.
    } finally {
      inbox.close();
      queue.end(null);
    }
  }

  private void read(Session session) throws Exception {
    while (!closed) {
      while (queue.full()) {
        room.acquire();
      }
      session.poll();
    }
  }
}
