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
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A connection for requests to another node. It is made in the background and takes no request before; once it has
 * broken it stays so. A request that gets no reply in time fails alone. Only when nothing at all has come back while it
 * waited, the other node gets a ping, and a connection on which that, too, brings nothing back is closed. Thread-safe.
 */
final class PeerConnection implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(PeerConnection.class);

  private final PeerAddress address;
  private final PeerSockets sockets;
  private final int maxLength;
  private final Runnable onDisconnect;
  private final Map<Long, PendingRequest> inFlight = new ConcurrentHashMap<>();
  private final AtomicLong lastId = new AtomicLong();
  private final AtomicLong framesReceived = new AtomicLong();
  private final AtomicBoolean pinging = new AtomicBoolean();
  private final ReentrantLock writeLock = new ReentrantLock();
  private volatile @Nullable Socket tcp;
  private volatile @Nullable OutputStream out;
  private volatile boolean closed;

  /** A request whose reply has not come. */
  private static final class PendingRequest extends CompletableFuture<byte @Nullable []> {
    /** {@link #framesReceived} when it was made. */
    final long framesBefore;

    volatile boolean written;

    PendingRequest(long framesBefore) {
      this.framesBefore = framesBefore;
    }
  }

  /**
   * A connection that is yet to be {@linkplain #open opened}.
   *
   * @param maxLength the longest request or reply, in bytes
   * @param onDisconnect runs once when the connection could not be made, or has ended
   */
  PeerConnection(PeerAddress address, PeerSockets sockets, int maxLength, Runnable onDisconnect) {
    this.address = address;
    this.sockets = sockets;
    this.maxLength = maxLength;
    this.onDisconnect = onDisconnect;
  }

  /** Begins to connect, on a thread of its own. */
  void open() {
    try {
      Thread.ofPlatform().name("kvasir-peer-" + address.host() + ":" + address.port()).daemon().start(this::run);
    } catch (OutOfMemoryError noThread) {
      LOG.warn("no peer connection to {} can be made: {}", address, noThread.getMessage());
      close();
      onDisconnect.run();
    }
  }

  /**
   * Sends a request, which has been written when this returns.
   *
   * @return completes with the reply, null when the other node's handler has none; with a {@link TimeoutException} when
   *     no reply came in time or an {@link IOException} when the connection broke, and the request may have been
   *     handled then. Null when the request was not sent because there is no connection,
   *     or because it is too long
   */
  @Nullable CompletableFuture<byte @Nullable []> request(byte[] content, Duration timeout) {
    OutputStream open = out;
    return open == null || content.length > maxLength
        ? null
        : send(open, content, timeout, late -> timedOut(late, timeout));
  }

  private @Nullable CompletableFuture<byte @Nullable []> send(
      OutputStream open, byte[] content, Duration timeout, Consumer<PendingRequest> onTimeout) {
    long id = lastId.incrementAndGet();
    PendingRequest request = new PendingRequest(framesReceived.get());
    inFlight.put(id, request);
    if (closed) {
      inFlight.remove(id);
      return null;
    }
    // Before writing, which may have to wait, too, until the connection is closed.
    var _ = request.orTimeout(timeout.toNanos(), TimeUnit.NANOSECONDS);
    CompletableFuture<byte @Nullable []> reply =
        request.whenComplete((_, failure) -> {
          inFlight.remove(id);
          if (failure instanceof TimeoutException) {
            onTimeout.accept(request);
          }
        });
    write(open, id, content);
    request.written = true;
    return reply;
  }

  private void write(OutputStream open, long id, byte[] content) {
    writeLock.lock();
    try {
      open.write(FrameCodec.encode(id, content));
    } catch (IOException ended) {
      close();
    } finally {
      writeLock.unlock();
    }
  }

  /** Runs on the thread of all timeouts, so whatever may wait runs on a thread of its own. */
  private void timedOut(PendingRequest request, Duration timeout) {
    if (framesReceived.get() != request.framesBefore) {
      return;
    }
    if (!request.written) {
      Thread.ofVirtual().start(this::close);
    } else if (pinging.compareAndSet(false, true)) {
      Thread.ofVirtual().start(() -> ping(timeout));
    }
  }

  private void ping(Duration timeout) {
    OutputStream open = out;
    CompletableFuture<byte @Nullable []> reply =
        open == null
            ? null
            : send(open, FrameCodec.NO_CONTENT, timeout, ping -> {
              if (framesReceived.get() == ping.framesBefore) {
                Thread.ofVirtual().start(this::close);
              }
            });
    if (reply == null) {
      pinging.set(false);
    } else {
      var _ = reply.whenComplete((_, _) -> pinging.set(false));
    }
  }

  private void run() {
    try (Socket created = new Socket()) {
      tcp = created;
      if (!closed) {
        Socket connected = sockets.connect(created, address);
        DataInputStream in = FrameCodec.input(connected);
        FrameCodec.writeHello(new DataOutputStream(connected.getOutputStream()), address.node());
        if (in.readInt() != FrameCodec.WELCOME) {
          throw new IOException("another node listens there");
        }
        PeerSockets.endHandshake(created);
        out = connected.getOutputStream();
        read(in);
      }
    } catch (IOException ended) {
      LOG.debug("the peer connection to {} has ended: {}", address, ended.getMessage());
    } finally {
      close();
      onDisconnect.run();
    }
  }

  private void read(DataInputStream in) throws IOException {
    while (true) {
      Frame frame = FrameCodec.read(in, maxLength);
      framesReceived.incrementAndGet();
      PendingRequest request = inFlight.get(frame.id());
      if (request != null) {
        request.complete(frame.content().length == 0 ? null : frame.content());
      }
    }
  }

  /** Closes the connection; requests without a reply fail with an {@link IOException}. Idempotent; never waits. */
  @Override
  public void close() {
    closed = true;
    inFlight.values().forEach(
        request -> request.completeExceptionally(new IOException("the peer connection has ended")));
    Socket open = tcp;
    if (open != null) {
      PeerSockets.close(open);
    }
  }
}
