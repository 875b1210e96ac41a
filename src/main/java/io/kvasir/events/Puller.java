package io.kvasir.events;

import java.io.IOException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Fills one subscription's queue from a transport that has to be asked, on a virtual thread of its own: opens a
 * session, takes turns while the queue has room, and opens another when one fails, less and less often.
 */
final class Puller implements Runnable {
  private static final Logger LOG = LoggerFactory.getLogger(Puller.class);
  private static final long MIN_PAUSE_MILLIS = 50;
  private static final long MAX_PAUSE_MILLIS = 2000;

  /** A way to what keeps a worker's events. */
  @FunctionalInterface
  interface Transport {
    /**
     * Reaches it. May block, for seconds at most.
     *
     * @throws Exception when it cannot be reached now; it is tried again
     */
    Session open(Inbox inbox) throws Exception;
  }

  /** A connection that is read from. */
  interface Session extends AutoCloseable {
    /**
     * Waits a while for messages, a few seconds at most, and puts those that came into the inbox.
     *
     * @throws Exception when the connection is lost; the session is then closed and another one opened
     */
    void poll() throws Exception;

    @Override
    void close() throws IOException;
  }

  private final String what;
  private final Transport transport;
  private final BatchQueue queue;
  private final Inbox inbox;
  private final Semaphore room = new Semaphore(0);
  private final Thread thread;
  private volatile boolean closed;

  private Puller(String what, Transport transport, BatchQueue queue, EventMetrics.SourceMetrics metrics) {
    this.what = what;
    this.transport = transport;
    this.queue = queue;
    this.inbox = new Inbox(queue, metrics);
    this.thread = Thread.ofVirtual().name("kvasir-events-" + what).unstarted(this);
  }

  /**
   * Begins to fill a queue.
   *
   * @param what is read, for the log
   * @return ends it, without waiting for what is under way
   */
  static Runnable start(String what, Transport transport, BatchQueue queue, EventMetrics.SourceMetrics metrics) {
    Puller puller = new Puller(what, transport, queue, metrics);
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
            LOG.warn("{}: not reached, tried again until it is: {}", what, e.toString());
          }
          inbox.disconnected();
          // Many workers that lose one server come back one by one.
          TimeUnit.MILLISECONDS.sleep(pause / 2 + ThreadLocalRandom.current().nextLong(pause));
          pause = Math.min(MAX_PAUSE_MILLIS, 2 * pause);
        }
      }
    } catch (InterruptedException e) {
      // Closed while it paused.
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
