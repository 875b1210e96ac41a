package io.kvasir.peer;

import io.kvasir.peer.FrameCodec.Frame;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.Socket;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A connection on which a peer sends requests. One thread reads a request, handles it, writes its reply and reads on,
 * so that the usual request wakes one thread only. When the handler takes long, its thread keeps that request and
 * another thread {@linkplain #releaseReader reads on}, so replies may come in any order. Thread-safe.
 */
final class InboundConnection implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(InboundConnection.class);

  /** Handlers of one peer that may run long at once; while so many do, its further requests wait. */
  static final int MAX_SLOW_HANDLERS = 64;

  /** {@link #handling} while the reading thread is in no handler. */
  private static final long NONE = 0;

  private final Socket socket;
  private final PeerSockets sockets;
  private final String node;
  private final RequestHandler handler;
  private final Runnable onHandling;
  private final Consumer<InboundConnection> onClose;
  private final ReentrantLock writeLock = new ReentrantLock();
  private final AtomicInteger slowHandlers = new AtomicInteger();

  /** The number of the request that the reading thread handles; the thread that resets it decides which reads on. */
  private final AtomicLong handling = new AtomicLong(NONE);

  // Of the reading thread alone, whichever that is; the next one is started after they were written.
  private long requests;
  private @Nullable Runnable readOn;

  // Of the watchdog alone.
  private long lastSeen;

  /**
   * A connection that was accepted; nothing is read before {@link #start}.
   *
   * @param onHandling called before each request is handled, on the reading thread
   * @param onClose called when the connection is closed, maybe more than once
   */
  InboundConnection(
      Socket socket,
      PeerSockets sockets,
      String node,
      RequestHandler handler,
      Runnable onHandling,
      Consumer<InboundConnection> onClose) {
    this.socket = socket;
    this.sockets = sockets;
    this.node = node;
    this.handler = handler;
    this.onHandling = onHandling;
    this.onClose = onClose;
  }

  void start() {
    startThread(this::serve);
  }

  private void startThread(Runnable task) {
    Thread.ofPlatform().name("kvasir-peer-from-" + socket.getPort()).daemon().start(task);
  }

  private void serve() {
    boolean accepted = false;
    try {
      sockets.beginHandshake(socket);
      DataInputStream in = FrameCodec.input(socket);
      DataOutputStream out = new DataOutputStream(socket.getOutputStream());
      if (FrameCodec.readHello(in).equals(node)) {
        out.writeInt(FrameCodec.WELCOME);
        PeerSockets.endHandshake(socket);
        accepted = true;
        readOn = () -> serveRequests(in, out);
        serveRequests(in, out);
      }
    } catch (IOException failed) {
      LOG.debug("a peer connection from {} was not made: {}", socket.getRemoteSocketAddress(), failed.getMessage());
    } finally {
      if (!accepted) {
        close();
      }
    }
  }

  private void serveRequests(DataInputStream in, DataOutputStream out) {
    boolean replaced = false;
    try {
      while (!replaced) {
        Frame frame = FrameCodec.read(in);
        if (frame.content().length == 0) {
          reply(out, frame.id(), FrameCodec.NO_CONTENT);
        } else {
          replaced = !serve(frame, out);
        }
      }
    } catch (IOException ended) {
      LOG.debug("a peer connection from {} has ended: {}", socket.getRemoteSocketAddress(), ended.getMessage());
    } finally {
      if (!replaced) {
        close();
      }
    }
  }

  /** Handles a request; returns whether this thread is to read on. */
  private boolean serve(Frame frame, DataOutputStream out) throws IOException {
    long number = ++requests;
    handling.set(number);
    onHandling.run();
    byte[] answer = handle(frame.content());
    boolean reading = handling.compareAndSet(number, NONE);
    reply(out, frame.id(), answer == null ? FrameCodec.NO_CONTENT : answer);
    if (!reading) {
      slowHandlers.decrementAndGet();
    }
    return reading;
  }

  private byte @Nullable [] handle(byte[] request) {
    try {
      return handler.handle(request);
    } catch (RuntimeException failed) {
      LOG.warn("a peer's request could not be handled", failed);
      return null;
    }
  }

  private void reply(DataOutputStream out, long id, byte[] content) throws IOException {
    byte[] frame = FrameCodec.encode(id, content);
    writeLock.lock();
    try {
      out.write(frame);
    } finally {
      writeLock.unlock();
    }
  }

  /**
   * Has another thread read on when the handler runs that ran at the last call. Called by the watchdog alone, at
   * intervals.
   *
   * @return whether the reading thread is in a handler still, so that another call is due
   */
  boolean releaseReader() {
    long now = handling.get();
    Runnable next = readOn;
    if (now != NONE && now == lastSeen && next != null && slowHandlers.get() < MAX_SLOW_HANDLERS
        && handling.compareAndSet(now, NONE)) {
      slowHandlers.incrementAndGet();
      startThread(next);
      return false;
    }
    lastSeen = now;
    return now != NONE;
  }

  /** Closes the connection; handlers that run end as they would, and their replies are lost. Idempotent. */
  @Override
  public void close() {
    PeerSockets.close(socket);
    onClose.accept(this);
  }
}
