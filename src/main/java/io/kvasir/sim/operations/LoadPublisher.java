package io.kvasir.sim.operations;

import io.kvasir.sim.core.EngineMetrics.RankLoad;
import io.kvasir.sim.publisher.PortException;
import io.kvasir.sim.settings.EngineSettings;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.msgpack.core.MessageBufferPacker;
import org.msgpack.core.MessagePack;
import org.zeromq.SocketType;
import org.zeromq.ZMQ;
import org.zeromq.ZMQException;

/**
 * Publishes each rank's load as SGLang 0.5.23 does ({@code SchedulerLoadPublisher} in {@code
 * python/sglang/srt/managers/scheduler_components/load_publisher.py}): on a PUB socket a rank, {@code topic, sequence,
 * payload}, when it has changed and at least each second. A change is seen within some milliseconds, on a thread of
 * its own. Thread-safe.
 */
public final class LoadPublisher implements AutoCloseable {
  static final String TOPIC = "load";
  private static final byte[] TOPIC_FRAME = TOPIC.getBytes(StandardCharsets.UTF_8);
  private static final byte[] NO_MESSAGE = "no message".getBytes(StandardCharsets.UTF_8);
  private static final long HEARTBEAT_NANOS = Duration.ofSeconds(1).toNanos();
  private static final long LOOK_NANOS = Duration.ofMillis(10).toNanos();
  private static final int HIGH_WATER_MARK = 8;
  private static final int HANDSHAKE_MILLIS = 1000;
  private static final int PORT_TRIES = 50;
  private static final int FIRST_FREE_PORT = 20_000;
  private static final int LAST_FREE_PORT = 60_000;

  private final ZMQ.Context context = ZMQ.context(1);
  private final List<RankSocket> sockets = new ArrayList<>();
  private final EngineSettings engine;
  private final int port;
  private final Thread thread;
  private volatile boolean silent;
  private volatile boolean garbled;
  private volatile boolean closed;

  /** A rank's load as it is sent. */
  record Stat(int running, int waiting, long tokens, long maxTokens, int rank, int maxRunning) {
    /** As msgspec writes the array {@code LoadStat}. What the simulator does not know is 0, as it may be there. */
    byte[] encode() {
      try (MessageBufferPacker out = MessagePack.newDefaultBufferPacker()) {
        out.packArrayHeader(11).packString("LoadStat").packInt(running).packInt(waiting).packLong(tokens)
            .packLong(maxTokens).packInt(rank).packInt(0).packLong(tokens).packInt(maxRunning).packInt(0).packInt(0);
        return out.toByteArray();
      } catch (IOException e) {
        throw new UncheckedIOException("A message in memory cannot fail to be written", e);
      }
    }
  }

  /** A rank's socket and what went over it last; belongs to the thread. */
  private static final class RankSocket {
    private final ZMQ.Socket pub;
    private final RankLoad load;
    private @Nullable Stat last;
    private long sentNanos;
    private long sequence;

    RankSocket(ZMQ.Socket pub, RankLoad load) {
      this.pub = pub;
      this.load = load;
    }
  }

  /**
   * Binds and starts.
   *
   * @param firstPort rank 0's; 0 for free ones in a row
   * @throws IOException when a port is taken
   */
  public LoadPublisher(String host, int firstPort, List<? extends RankLoad> ranks, EngineSettings engine)
      throws IOException {
    this.engine = engine;
    this.port = bind(host, firstPort, ranks);
    this.thread = Thread.ofPlatform().daemon().name("sim-load").start(this::publish);
  }

  /** Rank 0's port. */
  public int port() {
    return port;
  }

  public void setSilent(boolean on) {
    silent = on;
  }

  public void setGarbled(boolean on) {
    garbled = on;
  }

  @Override
  public void close() {
    closed = true;
    LockSupport.unpark(thread);
    boolean interrupted = false;
    while (thread.isAlive()) {
      try {
        thread.join();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private int bind(String host, int firstPort, List<? extends RankLoad> ranks) throws IOException {
    for (int tries = 1; ; tries++) {
      int base =
          firstPort == 0
              ? ThreadLocalRandom.current().nextInt(FIRST_FREE_PORT, LAST_FREE_PORT - ranks.size())
              : firstPort;
      try {
        for (int rank = 0; rank < ranks.size(); rank++) {
          ZMQ.Socket pub = context.socket(SocketType.PUB);
          sockets.add(new RankSocket(pub, ranks.get(rank)));
          pub.setHWM(HIGH_WATER_MARK);
          pub.setLinger(0);
          pub.setHandshakeIvl(HANDSHAKE_MILLIS);
          pub.bind("tcp://" + host + ":" + (base + rank));
        }
        return base;
      } catch (ZMQException taken) {
        closeSockets();
        if (firstPort != 0 || tries == PORT_TRIES) {
          context.term();
          throw new PortException("load-port", Integer.toString(base), host, taken);
        }
      }
    }
  }

  private void closeSockets() {
    sockets.forEach(socket -> socket.pub.close());
    sockets.clear();
  }

  private void publish() {
    while (!closed) {
      if (!silent) {
        sockets.forEach(this::publishIfDue);
      }
      LockSupport.parkNanos(LOOK_NANOS);
    }
    closeSockets();
    context.term();
  }

  private void publishIfDue(RankSocket socket) {
    RankLoad load = socket.load;
    Stat stat =
        new Stat(
            load.running(),
            load.waiting(),
            (long) load.usedBlocks() * engine.blockSize(),
            (long) engine.blocks() * engine.blockSize(),
            load.rank(),
            engine.maxSequences());
    long now = System.nanoTime();
    if (stat.equals(socket.last) && now - socket.sentNanos < HEARTBEAT_NANOS) {
      return;
    }
    socket.last = stat;
    socket.sentNanos = now;
    socket.pub.sendMore(TOPIC_FRAME);
    socket.pub.sendMore(ByteBuffer.allocate(Long.BYTES).putLong(socket.sequence++).array());
    socket.pub.send(garbled ? NO_MESSAGE : stat.encode());
  }
}
