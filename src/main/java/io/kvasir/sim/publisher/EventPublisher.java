package io.kvasir.sim.publisher;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.zeromq.SocketType;
import org.zeromq.ZMQ;
import org.zeromq.ZMQException;
import org.zeromq.ZMsg;
import zmq.ZError;

/**
 * Sends one rank's batches as vLLM's {@code ZmqEventPublisher} does: {@code topic, sequence, payload} on a
 * PUB socket, sequence numbers from 0 as eight big-endian bytes, and the last batches again on request
 * through a ROUTER socket ({@code "", sequence} → every kept batch from there on, then an end marker). With snapshots,
 * {@code "", "snapshot"} → all that the events say is held, under the next sequence number, then the same marker.
 *
 * <p>A ZMQ socket belongs to one thread: the PUB socket to the one that calls {@link #publish}, the ROUTER
 * to a thread of its own. Messages without a subscriber, or beyond 100,000 unread ones, are dropped.
 */
public final class EventPublisher implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(EventPublisher.class);
  private static final byte[] EMPTY = {};
  private static final byte[] SNAPSHOT = "snapshot".getBytes(StandardCharsets.US_ASCII);
  private static final byte[] NO_MESSAGE = "no message".getBytes(StandardCharsets.UTF_8);
  private static final byte[] END = {-1, -1, -1, -1, -1, -1, -1, -1};
  /** Of so many messages one is lost while it is lossy. */
  private static final int LOSS_INTERVAL = 3;
  private static final int HIGH_WATER_MARK = 100_000;
  /**
   * JeroMQ 0.6.0 now and then forgets to watch a connection it has just made (the poller drops the new
   * registration of the channel together with the old one) and finds out by this timeout, 30 s by default.
   */
  private static final int HANDSHAKE_MILLIS = 1000;

  private final ZMQ.Context context = ZMQ.context(1);
  private final ZMQ.Socket pub;
  private final int eventsPort;
  private final int replayPort;
  private final byte[] topic;
  private final boolean topicInReplay;
  private final int kept;
  private final EventEncoder encoder;
  private final int rank;
  private final AtomicBoolean closed = new AtomicBoolean();
  /** The last batches; guarded by itself. */
  private final Deque<Batch> history = new ArrayDeque<>();
  /** What was published, null without snapshots; guarded by the history, as the sequence is. */
  private final @Nullable PublishedCache cache;
  private long sequence;
  private volatile boolean lossy;
  private volatile boolean silent;
  private volatile boolean garbled;

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
   * @param snapshots whether a snapshot can be requested, too
   */
  public record Binding(
      String host,
      int eventsPort,
      @Nullable String connect,
      boolean replay,
      int replayPort,
      String topic,
      boolean topicInReplay,
      int kept,
      boolean snapshots) {}

  /**
   * Binds (or connects) and starts.
   *
   * @param rank data-parallel rank in its batches
   * @throws IOException when a port cannot be bound; says whose
   */
  public EventPublisher(Binding binding, EventFormat format, int rank, String name) throws IOException {
    topic = binding.topic().getBytes(StandardCharsets.UTF_8);
    topicInReplay = binding.topicInReplay();
    kept = binding.kept();
    cache = binding.snapshots() ? new PublishedCache() : null;
    encoder = new EventEncoder(format);
    this.rank = rank;
    pub = context.socket(SocketType.PUB);
    ZMQ.Socket router = context.socket(SocketType.ROUTER);
    try {
      pub.setHWM(HIGH_WATER_MARK);
      pub.setLinger(0);
      pub.setHandshakeIvl(HANDSHAKE_MILLIS);
      router.setLinger(0);
      if (binding.connect() != null) {
        pub.connect(binding.connect());
        eventsPort = 0;
      } else {
        eventsPort = bind("events-port", pub, binding.host(), binding.eventsPort());
      }
      replayPort = binding.replay() ? bind("replay-port", router, binding.host(), binding.replayPort()) : 0;
    } catch (IOException | RuntimeException e) {
      pub.close();
      router.close();
      context.term();
      throw e;
    }
    Thread.ofPlatform().daemon().name(name).start(() -> answer(router));
  }

  /** Port of the PUB socket; 0 when it connects. */
  public int eventsPort() {
    return eventsPort;
  }

  /** Port of the replay socket; 0 when there is none. */
  public int replayPort() {
    return replayPort;
  }

  /**
   * Sends a batch under the next sequence number; always called by the same thread.
   *
   * @param seconds Unix time of the step
   */
  public void publish(double seconds, List<CacheEvent> events) {
    if (silent) {
      return;
    }
    byte[] payload = garbled ? NO_MESSAGE : encoder.encode(seconds, events, rank);
    Batch batch;
    synchronized (history) {
      batch = new Batch(sequence++, payload);
      if (cache != null) {
        cache.apply(events);
      }
      if (history.size() >= kept) {
        history.pollFirst();
      }
      if (kept > 0) {
        history.addLast(batch);
      }
    }
    if (lossy && batch.sequence % LOSS_INTERVAL == 0) {
      return;
    }
    pub.sendMore(topic);
    pub.sendMore(bigEndian(batch.sequence));
    pub.send(batch.payload);
  }

  /** Whether nothing is published from now on; any thread may say so. */
  public void setSilent(boolean on) {
    silent = on;
  }

  /** Whether messages from now on are not MessagePack; any thread may say so. */
  public void setGarbled(boolean on) {
    garbled = on;
  }

  /** Whether every third message from now on is lost on its way, though not to a replay; any thread may say so. */
  public void setLossy(boolean on) {
    lossy = on;
  }

  /**
   * Closes the sockets at once, as a dying process would: what has not been sent is lost. Called when
   * {@link #publish} is called no more.
   */
  @Override
  public void close() {
    if (closed.compareAndSet(false, true)) {
      pub.close();
      context.term(); // wakes the replay thread and waits until it has closed its socket
    }
  }

  private static int bind(String setting, ZMQ.Socket socket, String host, int port) throws IOException {
    String wanted = port == 0 ? "*" : Integer.toString(port);
    try {
      socket.bind("tcp://" + host + ":" + wanted);
    } catch (ZMQException e) {
      throw new PortException(setting, wanted, host, e);
    }
    String bound = socket.getLastEndpoint();
    return Integer.parseInt(bound.substring(bound.lastIndexOf(':') + 1));
  }

  private void answer(ZMQ.Socket router) {
    try (router) {
      while (!closed.get()) {
        replay(router);
      }
    } catch (ZMQException e) {
      if (e.getErrorCode() != ZError.ETERM) {
        LOG.error("Events are not replayed any more", e);
      }
    }
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
    if (cache != null && Arrays.equals(frames[2], SNAPSHOT)) {
      snapshot(router, frames[0], cache);
      return;
    }
    long from = ByteBuffer.wrap(frames[2]).getLong();
    List<Batch> wanted;
    synchronized (history) {
      wanted = history.stream().filter(batch -> batch.sequence >= from).toList();
    }
    for (Batch batch : wanted) {
      reply(router, frames[0], topic, bigEndian(batch.sequence), batch.payload);
    }
    reply(router, frames[0], EMPTY, END, EMPTY);
  }

  /** An engine that does not know the request takes it for a number, beyond all that it has published. */
  private void snapshot(ZMQ.Socket router, byte[] identity, PublishedCache published) {
    byte[] resume;
    List<List<CacheEvent>> messages;
    synchronized (history) {
      resume = bigEndian(sequence);
      messages = published.snapshot();
    }
    double seconds = System.currentTimeMillis() / 1e3;
    for (List<CacheEvent> events : messages) {
      reply(router, identity, topic, resume, encoder.encode(seconds, events, rank));
    }
    reply(router, identity, EMPTY, END, EMPTY);
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
