package io.kvasir.cell.line;

import io.kvasir.cell.line.Frames.Frame;
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
final class Line implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Line.class);

  private final LineAddress to;
  private final LineSockets sockets;
  private final Runnable broken;
  private final Map<Long, CompletableFuture<byte @Nullable []>> asked = new ConcurrentHashMap<>();
  private final AtomicLong last = new AtomicLong();
  private final ReentrantLock writing = new ReentrantLock();
  private volatile @Nullable Socket socket;
  private volatile @Nullable OutputStream out;
  private volatile boolean closed;

  /**
   * A line that is yet to be {@linkplain #open opened}.
   *
   * @param broken runs when it could not be, or when the connection has ended
   */
  Line(LineAddress to, LineSockets sockets, Runnable broken) {
    this.to = to;
    this.sockets = sockets;
    this.broken = broken;
  }

  /** Begins to connect. */
  void open() {
    Thread.ofPlatform().name("kvasir-line-" + to.host() + ":" + to.port()).daemon().start(this::run);
  }

  /**
   * Asks: the question has been written when this returns.
   *
   * @return completes with the answer, or with null when the other node passes. With a {@link TimeoutException} when no
   *     answer came in time or an {@link IOException} when the connection broke, and the question may have been heard.
   *     Null when it was not asked, for want of a connection
   */
  @Nullable CompletableFuture<byte @Nullable []> ask(byte[] question, Duration patience) {
    OutputStream open = out;
    if (open == null || question.length > Frames.LONGEST) {
      return null;
    }
    long number = last.incrementAndGet();
    CompletableFuture<byte @Nullable []> answer = new CompletableFuture<>();
    asked.put(number, answer);
    if (closed) {
      asked.remove(number);
      return null;
    }
    // Before writing, which may have to wait too, until the connection is closed.
    answer.orTimeout(patience.toNanos(), TimeUnit.NANOSECONDS);
    CompletableFuture<byte @Nullable []> over =
        answer.whenComplete((_, failure) -> {
          asked.remove(number);
          if (failure instanceof TimeoutException) {
            close();
          }
        });
    write(open, number, question);
    return over;
  }

  private void write(OutputStream open, long number, byte[] question) {
    writing.lock();
    try {
      open.write(Frames.of(number, question));
    } catch (IOException ended) {
      close();
    } finally {
      writing.unlock();
    }
  }

  private void run() {
    try (Socket connected = sockets.connect(to)) {
      socket = connected;
      if (!closed) {
        DataInputStream in = Frames.from(connected);
        Frames.introduce(new DataOutputStream(connected.getOutputStream()), to.node());
        if (in.readInt() != Frames.WELCOME) {
          throw new IOException("another node answers there");
        }
        LineSockets.greeted(connected);
        out = connected.getOutputStream();
        read(in);
      }
    } catch (IOException ended) {
      LOG.debug("the line to {} has ended: {}", to, ended.getMessage());
    } finally {
      close();
      broken.run();
    }
  }

  private void read(DataInputStream in) throws IOException {
    while (true) {
      Frame frame = Frames.read(in);
      CompletableFuture<byte @Nullable []> waiting = asked.get(frame.number());
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
      LineSockets.close(open);
    }
    asked.values().forEach(waiting -> waiting.completeExceptionally(new IOException("the line has ended")));
  }
}
