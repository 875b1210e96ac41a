package io.kvasir.peer;

import io.kvasir.peer.FrameCodec.Frame;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A connection on which another node is asked. It is made in the background, and is of no use before; once it has
 * broken it stays so. A question that is not answered in time breaks it, for nobody can tell a node that thinks from
 * one that has gone without a word. Thread-safe.
 */
final class PeerConnection implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(PeerConnection.class);

  private final PeerAddress address;
  private final PeerSockets sockets;
  private final Runnable onDisconnect;
  private final Map<Long, CompletableFuture<byte @Nullable []>> inFlight = new ConcurrentHashMap<>();
  private final AtomicLong lastId = new AtomicLong();
  private final ReentrantLock writeLock = new ReentrantLock();
  private volatile @Nullable Socket socket;
  private volatile @Nullable OutputStream out;
  private volatile boolean closed;

  /**
   * A line that is yet to be {@linkplain #open opened}.
   *
   * @param broken runs when it could not be, or when the connection has ended
   */
  PeerConnection(PeerAddress to, PeerSockets sockets, Runnable broken) {
    this.address = to;
    this.sockets = sockets;
    this.onDisconnect = broken;
  }

  /** Begins to connect. */
  void open() {
    Thread.ofPlatform().name("kvasir-line-" + address.host() + ":" + address.port()).daemon().start(this::run);
  }

  /**
   * Asks: the question has been written when this returns.
   *
   * @return completes with the answer, or with null when the other node passes. With a {@link TimeoutException} when no
   *     answer came in time or an {@link IOException} when the connection broke, and the question may have been heard.
   *     Null when it was not asked, for want of a connection
   */
  @Nullable CompletableFuture<byte @Nullable []> request(byte[] question, Duration patience) {
    OutputStream open = out;
    if (open == null || question.length > FrameCodec.MAX_LENGTH) {
      return null;
    }
    long number = lastId.incrementAndGet();
    CompletableFuture<byte @Nullable []> answer = new CompletableFuture<>();
    inFlight.put(number, answer);
    if (closed) {
      inFlight.remove(number);
      return null;
    }
    // Before writing, which may have to wait too, until the connection is closed.
    answer.orTimeout(patience.toNanos(), TimeUnit.NANOSECONDS);
    CompletableFuture<byte @Nullable []> over =
        answer.whenComplete((_, failure) -> {
          inFlight.remove(number);
          if (failure instanceof TimeoutException) {
            close();
          }
        });
    write(open, number, question);
    return over;
  }

  private void write(OutputStream open, long number, byte[] question) {
    writeLock.lock();
    try {
      open.write(FrameCodec.encode(number, question));
    } catch (IOException ended) {
      close();
    } finally {
      writeLock.unlock();
    }
  }

  private void run() {
    try (Socket connected = sockets.connect(address)) {
      socket = connected;
      if (!closed) {
        DataInputStream in = FrameCodec.input(connected);
        FrameCodec.writeHello(new DataOutputStream(connected.getOutputStream()), address.node());
        if (in.readInt() != FrameCodec.WELCOME) {
          throw new IOException("another node answers there");
        }
        PeerSockets.endHandshake(connected);
        out = connected.getOutputStream();
        read(in);
      }
    } catch (IOException ended) {
      LOG.debug("the line to {} has ended: {}", address, ended.getMessage());
    } finally {
      close();
      onDisconnect.run();
    }
  }

  private void read(DataInputStream in) throws IOException {
    while (true) {
      Frame frame = FrameCodec.read(in);
      CompletableFuture<byte @Nullable []> waiting = inFlight.get(frame.id());
      if (waiting != null) {
        waiting.complete(frame.content().length == 0 ? null : frame.content());
      }
    }
  }

  /** Ends the connection; who waits for an answer does so no longer. */
  @Override
  public void close() {
    closed = true;
    Socket open = socket;
    if (open != null) {
      PeerSockets.close(open);
    }
    inFlight.values().forEach(waiting -> waiting.completeExceptionally(new IOException("the line has ended")));
  }
}
