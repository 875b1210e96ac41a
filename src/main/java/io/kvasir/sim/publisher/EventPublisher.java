package io.kvasir.sim.publisher;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;
import org.zeromq.ZMQException;
import org.zeromq.ZMsg;
import zmq.ZError;

/**
 * Sends one rank's batches as vLLM's {@code ZmqEventPublisher} does: {@code topic, sequence, payload} on a
 * PUB socket, sequence numbers from 0 as eight big-endian bytes, and the last batches again on request
 * through a ROUTER socket ({@code "", sequence} → every kept batch from there on, then an end marker).
 *
 * <p>ZMQ sockets belong to one thread, so a thread of its own owns both and is fed through an in-process
 * pair. {@link #publish} may be called by one thread; it blocks when 100,000 batches wait, as vLLM's does.
 */
public final class EventPublisher implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(EventPublisher.class);
  private static final byte[] EMPTY = {};
  private static final byte[] END = {-1, -1, -1, -1, -1, -1, -1, -1};
  private static final String INBOX = "inproc://batches";

  private final ZContext context = new ZContext(1);
  private final ZMQ.Socket feed;
  private final Thread thread;
  private final int eventsPort;
  private final int replayPort;
  private final byte[] topic;
  private final boolean topicInReplay;
  private final int kept;
  private final AtomicBoolean closed = new AtomicBoolean();
  private final Deque<Batch> history = new ArrayDeque<>();

  private record Batch(long sequence, byte[] payload) {}

  /**
   * Where a publisher sends.
   *
   * @param host interface to bind, or {@code *}
   * @param eventsPort port of the PUB socket; 0 for any free one
   * @param connect an address such as {@code tcp://router:5557} to connect the PUB socket to instead of
   *     binding it; null to bind
   * @param replay whether there is a replay socket
   * @param replayPort port of the ROUTER socket; 0 for any free one
   * @param topic first frame of every message
   * @param topicInReplay whether replies to a replay carry the topic, as vLLM's do since 0.26
   * @param kept batches kept for replay
   */
  public record Binding(
      String host,
      int eventsPort,
      @Nullable String connect,
      boolean replay,
      int replayPort,
      String topic,
      boolean topicInReplay,
      int kept) {}

  /**
   * Binds (or connects) and starts.
   *
   * @throws ZMQException when a port is taken
   */
  public EventPublisher(Binding binding, String name) {
    topic = binding.topic().getBytes(StandardCharsets.UTF_8);
    topicInReplay = binding.topicInReplay();
    kept = binding.kept();
    try {
      ZMQ.Socket pub = context.createSocket(SocketType.PUB);
      pub.setHWM(100_000);
      pub.setLinger(0);
      if (binding.connect() != null) {
        pub.connect(binding.connect());
        eventsPort = 0;
      } else {
        eventsPort = bind(pub, binding.host(), binding.eventsPort());
      }
      ZMQ.Socket router = null;
      if (binding.replay()) {
        router = context.createSocket(SocketType.ROUTER);
        router.setLinger(0);
        replayPort = bind(router, binding.host(), binding.replayPort());
      } else {
        replayPort = 0;
      }
      ZMQ.Socket inbox = context.createSocket(SocketType.PAIR);
      inbox.setHWM(100_000);
      inbox.bind(INBOX);
      feed = context.createSocket(SocketType.PAIR);
      feed.setHWM(100_000);
      feed.setLinger(0);
      feed.connect(INBOX);
      ZMQ.Socket replies = router;
      thread = Thread.ofPlatform().daemon().name(name).start(() -> run(inbox, pub, replies));
    } catch (RuntimeException e) {
      context.close();
      throw e;
    }
  }

  /** Port of the PUB socket; 0 when it connects. */
  public int eventsPort() {
    return eventsPort;
  }

  /** Port of the replay socket; 0 when there is none. */
  public int replayPort() {
    return replayPort;
  }

  /** Sends an encoded batch under the next sequence number. */
  public void publish(byte[] payload) {
    feed.send(payload);
  }

  /** Closes the sockets at once, as a dying process would: what has not been sent is lost. */
  @Override
  public void close() {
    if (!closed.compareAndSet(false, true)) {
      return;
    }
    feed.send(EMPTY);
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    context.close();
  }

  private static int bind(ZMQ.Socket socket, String host, int port) {
    socket.bind("tcp://" + host + ":" + (port == 0 ? "*" : Integer.toString(port)));
    String bound = socket.getLastEndpoint();
    return Integer.parseInt(bound.substring(bound.lastIndexOf(':') + 1));
  }

  private void run(ZMQ.Socket inbox, ZMQ.Socket pub, ZMQ.@Nullable Socket router) {
    try (ZMQ.Poller poller = context.createPoller(2)) {
      poller.register(inbox, ZMQ.Poller.POLLIN);
      if (router != null) {
        poller.register(router, ZMQ.Poller.POLLIN);
      }
      long sequence = 0;
      while (true) {
        poller.poll();
        if (poller.pollin(0)) {
          byte[] payload = inbox.recv();
          if (payload == null || payload.length == 0) {
            return;
          }
          send(pub, new Batch(sequence++, payload));
        }
        if (router != null && poller.pollin(1)) {
          replay(router);
        }
      }
    } catch (ZMQException e) {
      if (e.getErrorCode() != ZError.ETERM && e.getErrorCode() != ZError.EINTR) {
        LOG.error("The event publisher stopped", e);
      }
    }
  }

  private void send(ZMQ.Socket pub, Batch batch) {
    if (kept > 0) {
      if (history.size() == kept) {
        history.removeFirst();
      }
      history.addLast(batch);
    }
    pub.sendMore(topic);
    pub.sendMore(bigEndian(batch.sequence));
    pub.send(batch.payload);
  }

  private void replay(ZMQ.Socket router) {
    ZMsg request = ZMsg.recvMsg(router);
    if (request == null) {
      return;
    }
    byte[][] frames = request.stream().map(frame -> frame.getData()).toArray(byte[][]::new);
    if (frames.length != 3 || frames[1].length != 0 || frames[2].length != Long.BYTES) {
      LOG.warn("Invalid replay request of {} frames: expected an identity, an empty frame and eight bytes",
          frames.length);
      return;
    }
    long from = ByteBuffer.wrap(frames[2]).getLong();
    for (Batch batch : history) {
      if (batch.sequence >= from) {
        reply(router, frames[0], topic, bigEndian(batch.sequence), batch.payload);
      }
    }
    reply(router, frames[0], EMPTY, END, EMPTY);
  }

  private void reply(ZMQ.Socket router, byte[] identity, byte[] replyTopic, byte[] sequence, byte[] payload) {
    router.sendMore(identity);
    router.sendMore(EMPTY);
    if (topicInReplay) {
      router.sendMore(replyTopic);
    }
    router.sendMore(sequence);
    router.send(payload);
  }

  private static byte[] bigEndian(long value) {
    return ByteBuffer.allocate(Long.BYTES).putLong(value).array();
  }
}
