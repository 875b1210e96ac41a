package io.kvasir.http.server;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.util.ArrayDeque;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/** The server's end of a connection without a network: what a client sends, segment by segment, and what it gets. */
final class MemorySocket extends Socket {
  private final InetAddress client;

  // Guarded by this.
  private final ArrayDeque<byte[]> segments;
  private final ByteArrayOutputStream written = new ByteArrayOutputStream();
  private boolean clientEnded;
  private boolean serverEnded;
  private boolean ended;

  /** A connection on which a client sends these segments, each of which is read by itself. */
  MemorySocket(InetAddress client, List<byte[]> segments) {
    this.client = client;
    this.segments = new ArrayDeque<>(segments);
  }

  /** Waits until what the client got satisfies the condition, or the server sends nothing more; false in vain. */
  synchronized boolean awaitAnswers(Predicate<byte[]> enough, long timeoutSeconds) throws InterruptedException {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(timeoutSeconds);
    while (!serverEnded && !ended && !enough.test(written.toByteArray())) {
      if (System.nanoTime() - end > 0) {
        return false;
      }
      wait(1000);
    }
    return true;
  }

  /** Ends the client's sending, and waits until the server has closed the connection; false in vain. */
  synchronized boolean endAndAwaitClose(long timeoutSeconds) throws InterruptedException {
    clientEnded = true;
    notifyAll();
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(timeoutSeconds);
    while (!ended) {
      if (System.nanoTime() - end > 0) {
        return false;
      }
      wait(1000);
    }
    return true;
  }

  /** What the client got. */
  synchronized byte[] written() {
    return written.toByteArray();
  }

  @Override
  public InetAddress getInetAddress() {
    return client;
  }

  @Override
  public void setTcpNoDelay(boolean on) {
    // There is no delay.
  }

  @Override
  public InputStream getInputStream() {
    return new InputStream() {
      @Override
      public int read() throws IOException {
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
      }

      @Override
      public int read(byte[] into, int offset, int length) throws IOException {
        return readSegment(into, offset, length);
      }
    };
  }

  private synchronized int readSegment(byte[] into, int offset, int length) throws IOException {
    while (segments.isEmpty() && !clientEnded && !ended) {
      try {
        wait();
      } catch (InterruptedException e) {
        throw new IOException(e);
      }
    }
    if (ended) {
      throw new IOException("closed");
    }
    byte[] next = segments.poll();
    if (next == null) {
      return -1;
    }
    int count = Math.min(length, next.length);
    System.arraycopy(next, 0, into, offset, count);
    if (count < next.length) {
      byte[] rest = new byte[next.length - count];
      System.arraycopy(next, count, rest, 0, rest.length);
      segments.addFirst(rest);
    }
    return count;
  }

  @Override
  public OutputStream getOutputStream() {
    return new OutputStream() {
      @Override
      public void write(int b) throws IOException {
        write(new byte[] {(byte) b}, 0, 1);
      }

      @Override
      public void write(byte[] bytes, int offset, int length) throws IOException {
        append(bytes, offset, length);
      }
    };
  }

  private synchronized void append(byte[] bytes, int offset, int length) throws IOException {
    if (ended || serverEnded) {
      throw new IOException("closed");
    }
    written.write(bytes, offset, length);
    notifyAll();
  }

  @Override
  public synchronized void shutdownOutput() {
    serverEnded = true;
    notifyAll();
  }

  @Override
  public synchronized void close() {
    ended = true;
    notifyAll();
  }
}
