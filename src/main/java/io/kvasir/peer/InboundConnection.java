package io.kvasir.peer;

import io.kvasir.peer.FrameCodec.Frame;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.Socket;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
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

  private final Socket tcp;
  private final PeerSockets sockets;
  private final String node;
  private final RequestHandler handler;
  private final int maxLength;
  private final Listener listener;
  private final ReentrantLock writeLock = new ReentrantLock();
  private final AtomicInteger slowHandlers = new AtomicInteger();

  /** The number of the request that the reading thread handles; the thread that resets it decides which reads on. */
  private final AtomicLong handling = new AtomicLong(NONE);

  // Of the reading thread alone, whichever that is; the next one is started after they were written.
  private long requests;
  private @Nullable Runnable readOn;

  // Of the watchdog alone.
  private long lastSeen;

  /** The listener for what becomes of a connection. Called on any thread; must not block. */
  interface Listener {
    /** The peer has shown that it means this node, and is a router node where there is TLS. Once. */
    void accepted(InboundConnection connection);

    /** A request is about to be handled, on the reading thread. */
    void handling();

    /** The connection is closed; maybe more than once. */
    void closed(InboundConnection connection);
  }

  /**
   * A connection whose TCP connection was accepted; nothing is read before {@link #start}.
   *
   * @param maxLength the longest request or reply, in bytes
   */
  InboundConnection(
      Socket tcp, PeerSockets sockets, String node, RequestHandler handler, int maxLength, Listener listener) {
    this.tcp = tcp;
    this.sockets = sockets;
    this.node = node;
    this.handler = handler;
    this.maxLength = maxLength;
    this.listener = listener;
  }

  /** Begins to read, on a thread of its own. */
  void start() {
    startThread(this::serve);
  }

  private void startThread(Runnable task) {
    try {
      Thread.ofPlatform().name("kvasir-peer-from-" + tcp.getPort()).daemon().start(task);
    } catch (OutOfMemoryError noThread) {
      LOG.warn("a peer connection from {} is closed: {}", tcp.getRemoteSocketAddress(), noThread.getMessage());
      close();
    }
  }

  private void serve() {
    boolean accepted = false;
    try {
      Socket socket = sockets.accepted(tcp);
      DataInputStream in = FrameCodec.input(socket);
      DataOutputStream out = new DataOutputStream(socket.getOutputStream());
      if (FrameCodec.readHello(in).equals(node)) {
        out.writeInt(FrameCodec.WELCOME);
        accepted = true;
        listener.accepted(this);
        readOn = () -> serveRequests(in, out);
        serveRequests(in, out);
      }
    } catch (IOException failed) {
      LOG.debug("a peer connection from {} was not made: {}", tcp.getRemoteSocketAddress(), failed.getMessage());
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
        Frame frame = FrameCodec.read(in, maxLength);
        if (frame.content().length == 0) {
          reply(out, frame.id(), FrameCodec.NO_CONTENT);
        } else {
          replaced = !serve(frame, out);
        }
      }
    } catch (IOException ended) {
      LOG.debug("a peer connection from {} has ended: {}", tcp.getRemoteSocketAddress(), ended.getMessage());
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
    listener.handling();
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
      byte[] reply = handler.handle(request);
      if (reply != null && reply.length > maxLength) {
        LOG.warn("a reply of {} bytes to {} is not sent: it is too long", reply.length, tcp.getRemoteSocketAddress());
        return null;
      }
      return reply;
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

  /**
   * Closes the connection; handlers that run end as they would, and their replies are lost. Idempotent; never waits.
   */
  @Override
  public void close() {
    PeerSockets.close(tcp);
    listener.closed(this);
  }
}
