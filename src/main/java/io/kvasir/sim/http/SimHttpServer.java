package io.kvasir.sim.http;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An HTTP/1.1 server that reads all connections on one thread, as the engines' own servers do, so that requests are
 * taken in the order in which they came, and hands every request to a handler on a virtual thread of its own. While a
 * request is handled its connection is read on, so that a closed connection is noticed at once, also before the first
 * byte of the answer ({@link SimHttpExchange#onCancelled}); a half-closed one counts as closed, as with engines' own
 * servers. Requests of one connection are answered in order, and those of all come to the engine in order
 * ({@link SimHttpExchange#awaitEarlier}). Thread-safe.
 */
public final class SimHttpServer implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(SimHttpServer.class);
  private static final int BACKLOG = 4096;

  /** Read of one connection before the next one is read, as much as Python's event loops. */
  private static final int BUFFER_BYTES = 256 * 1024;

  /** For the thread to do what it is told; it waits for nobody. */
  private static final int TASK_SECONDS = 30;

  /** After a connection that could not be accepted, as for want of descriptors: the next try would come at once. */
  private static final long ACCEPT_PAUSE_NANOS = 50_000_000;

  private final InetSocketAddress address;
  private final SimHttpHandler handler;
  private final SimHttpLimits limits;
  private final ArrivalOrder arrivals = new ArrivalOrder();
  private final Selector selector = Selector.open();
  private final Queue<FutureTask<?>> tasks = new ConcurrentLinkedQueue<>();
  private final Thread thread;

  // Of the thread.
  private final ByteBuffer buffer = ByteBuffer.allocateDirect(BUFFER_BYTES);
  private List<Runnable> read = new ArrayList<>();
  private ServerSocketChannel listening;
  private long lookedForIdle = System.nanoTime();

  private volatile boolean closed;

  /**
   * Binds and starts.
   *
   * @param address where to listen; port 0 for any free one
   * @throws IOException when the port is taken
   */
  public SimHttpServer(InetSocketAddress address, SimHttpLimits limits, SimHttpHandler handler) throws IOException {
    this.limits = limits;
    this.handler = handler;
    try {
      listening = listen(address);
      this.address = (InetSocketAddress) listening.getLocalAddress();
    } catch (IOException taken) {
      selector.close();
      throw taken;
    }
    thread = Thread.ofPlatform().daemon().name("sim-http-" + port()).start(this::run);
  }

  /** The port it listens on. */
  public int port() {
    return address.getPort();
  }

  /**
   * Stops listening, or listens again on the same port; connections that are open stay.
   *
   * @throws IOException when another process has taken the port meanwhile
   */
  public synchronized void setRefusing(boolean refuses) throws IOException {
    if (closed) {
      return;
    }
    FutureTask<Void> task =
        new FutureTask<>(
            () -> {
              if (refuses) {
                listening.close();
                int _ = selector.selectNow(this::serve); // only then the kernel listens no more
              } else if (!listening.isOpen()) {
                listening = listen(address);
              }
              return null;
            });
    tasks.add(task);
    selector.wakeup();
    try {
      Void _ = task.get(TASK_SECONDS, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (ExecutionException e) {
      throw new IOException(e.getCause());
    } catch (TimeoutException e) {
      throw new IOException("the server's thread does not answer", e);
    }
  }

  /** Stops listening and drops every connection, as a dying process would. */
  @Override
  public synchronized void close() {
    closed = true;
    selector.wakeup();
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private ServerSocketChannel listen(InetSocketAddress at) throws IOException {
    ServerSocketChannel socket = ServerSocketChannel.open();
    try {
      socket.setOption(StandardSocketOptions.SO_REUSEADDR, true);
      socket.bind(at, BACKLOG);
      socket.configureBlocking(false);
      SelectionKey _ = socket.register(selector, SelectionKey.OP_ACCEPT);
      return socket;
    } catch (IOException e) {
      socket.close();
      throw e;
    }
  }

  private void run() {
    try (selector) {
      while (!closed) {
        for (FutureTask<?> task = tasks.poll(); task != null; task = tasks.poll()) {
          task.run();
        }
        turn();
        closeIdle();
      }
      listening.close();
      connections().forEach(SimHttpConnection::close);
      int _ = selector.selectNow();
    } catch (IOException | RuntimeException e) {
      LOG.error("The server on port {} has ended", port(), e);
    }
  }

  /**
   * Reads what has come, and has what the turn before has read answered. Not sooner: the kernel keeps a socket that it
   * has reported in its list of those that are ready until it is asked again. The next request there, sent when the
   * answer has come, would be taken before others that were sent earlier.
   */
  private void turn() throws IOException {
    List<Runnable> answers = read;
    read = new ArrayList<>();
    if (answers.isEmpty()) {
      int _ = selector.select(this::serve, Math.max(1, limits.idle().toMillis() / 4));
    } else {
      int _ = selector.selectNow(this::serve);
      answers.forEach(Thread::startVirtualThread);
    }
  }

  private void serve(SelectionKey key) {
    if (key.attachment() instanceof SimHttpConnection connection) {
      connection.serve(buffer, read::add);
    } else {
      accept();
    }
  }

  private void accept() {
    try {
      for (SocketChannel client = listening.accept(); client != null; client = listening.accept()) {
        try {
          new SimHttpConnection(client, selector, limits, handler, arrivals);
        } catch (IOException gone) {
          LOG.trace("A connection ended before it was read", gone);
          client.close();
        }
      }
    } catch (IOException e) {
      if (listening.isOpen()) {
        LOG.warn("A connection could not be accepted", e);
        LockSupport.parkNanos(ACCEPT_PAUSE_NANOS);
      }
    }
  }

  private void closeIdle() {
    long now = System.nanoTime();
    long idleNanos = limits.idle().toNanos();
    if (now - lookedForIdle >= idleNanos / 4) {
      lookedForIdle = now;
      connections().forEach(connection -> connection.closeIfIdle(now, idleNanos));
    }
  }

  private List<SimHttpConnection> connections() {
    return selector.keys().stream()
        .map(SelectionKey::attachment)
        .filter(SimHttpConnection.class::isInstance)
        .map(SimHttpConnection.class::cast)
        .toList();
  }
}
