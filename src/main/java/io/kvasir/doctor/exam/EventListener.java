package io.kvasir.doctor.exam;

import io.kvasir.events.DecodedMessage;
import io.kvasir.events.EventDecoder;
import io.kvasir.events.KvEvent;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;
import org.zeromq.ZMQException;
import zmq.ZError;

/** A subscriber to all topics of one endpoint, on a thread of its own. Thread-safe; closing it ends the thread. */
final class EventListener implements RankListener {
  private static final Logger LOG = LoggerFactory.getLogger(EventListener.class);
  private static final int FRAMES = 3;
  private static final int POLL_MILLIS = 20;
  private static final Duration CLOSING = Duration.ofSeconds(5);

  private final String endpoint;
  private final boolean bind;
  private final EventRecorder recorder;
  private final CountDownLatch connected = new CountDownLatch(1);
  private final Thread thread;
  private volatile boolean closing;
  private volatile long lastSequence = -1;
  private volatile boolean occupied;

  /**
   * Subscribes; each event that can be decoded goes to {@code onEvent}, on the listener's thread.
   *
   * @param bind whether the engine dials the endpoint
   */
  EventListener(String endpoint, boolean bind, Consumer<KvEvent> onEvent) {
    this.endpoint = endpoint;
    this.bind = bind;
    this.recorder = new EventRecorder(onEvent);
    this.thread = Thread.ofPlatform().daemon().name("kvasir-doctor-events").start(this::listen);
  }

  /** Waits until a connection is made; the subscription follows on it at once. */
  @Override
  public boolean awaitConnected(Duration timeout) throws InterruptedException {
    return connected.await(timeout.toNanos(), TimeUnit.NANOSECONDS);
  }

  /** Whether a connection was made. */
  boolean isConnected() {
    return connected.getCount() == 0;
  }

  /** Whether something else has the port that engines dial, such as a router. */
  boolean isOccupied() {
    return occupied;
  }

  /** The number of the latest message, -1 before any. */
  long lastSequence() {
    return lastSequence;
  }

  @Override
  public EventsSeen seen() {
    return recorder.seen();
  }

  @Override
  public void close() {
    closing = true;
    try {
      boolean _ = thread.join(CLOSING);
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
    }
  }

  private void listen() {
    try (ZContext context = ZmqContexts.open(); ZMQ.Socket sub = ZmqContexts.socket(context, SocketType.SUB)) {
      sub.setReceiveTimeOut(POLL_MILLIS);
      // Called on ZMQ's own thread.
      sub.setEventHook(_ -> connected.countDown(), ZMQ.EVENT_HANDSHAKE_PROTOCOL);
      sub.subscribe(new byte[0]);
      if (bind) {
        sub.bind(endpoint);
      } else {
        sub.connect(endpoint);
      }
      EventDecoder decoder = new EventDecoder();
      byte[][] frames = new byte[FRAMES][];
      while (!closing) {
        byte[] first = sub.recv();
        if (first == null) {
          continue;
        }
        frames[0] = first;
        int count = 1;
        while (sub.hasReceiveMore()) {
          byte[] next = sub.recv();
          if (count < FRAMES) {
            frames[count] = next;
          }
          count++;
        }
        accept(decoder, frames, count);
      }
    } catch (ZMQException ended) {
      occupied = ended.getErrorCode() == ZError.EADDRINUSE;
      LOG.debug("{} is not listened to any more", endpoint, ended);
    }
  }

  private void accept(EventDecoder decoder, byte[][] frames, int count) {
    if (count != FRAMES || frames[1].length != Long.BYTES) {
      recorder.misframed("a message of " + count + " frames instead of topic, number and payload");
      return;
    }
    long sequence = ByteBuffer.wrap(frames[1]).getLong();
    DecodedMessage message = decoder.decode(sequence, frames[2]);
    recorder.record(new String(frames[0], StandardCharsets.UTF_8), message);
    lastSequence = sequence;
  }
}
