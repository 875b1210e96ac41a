package io.kvasir.http.client;

import io.kvasir.http.ChannelLoop;
import io.kvasir.http.ChannelReader;
import java.io.IOException;
import java.net.Socket;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * A connection that a loop reads for as long as it is open, for one {@link ShortExchange} after another: that a pod
 * closes it while it is idle is seen then and not looked for before each exchange. Thread-safe but for what it
 * inherits.
 */
final class ExchangeConnection extends PodConnection implements ChannelReader {
  private final Owner owner;
  private final ChannelLoop loop;

  // Guarded by this: the exchange is written by one thread and read by another.
  private @Nullable ShortExchange current;
  private boolean over;

  /** Who has its exchanges. Called by the loop's thread. */
  interface Owner {
    /** Takes a connection back whose exchange has ended and that can serve another. */
    void release(ExchangeConnection connection);

    /** Handles that a connection ended before its exchange did; {@code how} is null when the pod closed it. */
    void interrupted(ShortExchange exchange, ExchangeConnection on, @Nullable IOException how);
  }

  ExchangeConnection(PodOrigin origin, Owner owner, ChannelLoop loop) throws IOException {
    super(origin);
    this.owner = owner;
    this.loop = loop;
  }

  @Override
  void open(Socket socket) throws IOException {
    watchBy(loop, this);
  }

  @Override
  int readDirectly(byte[] bytes, int offset, int length) throws IOException {
    return readNow(bytes, offset, length);
  }

  /** Begins an exchange and writes its request; false when the connection has ended and nothing was begun. */
  boolean begin(ShortExchange exchange, long now) {
    if (!isTaken(exchange, now)) {
      close();
      return false;
    }
    // Without the lock: the answer of a pod nearby comes before the writing is over, and would have its reader spin.
    if (isWritten(exchange)) {
      return true;
    }
    boolean open = isGivenUp(exchange);
    close();
    return !open;
  }

  private synchronized boolean isTaken(ShortExchange exchange, long now) {
    if (over || !exchange.attach(this)) {
      return false;
    }
    current = exchange;
    exchange.startTimer(now);
    return true;
  }

  /** Whether an exchange that could not be written ends by that; not where its reader has ended it before. */
  private synchronized boolean isGivenUp(ShortExchange exchange) {
    if (current != exchange) {
      return false;
    }
    current = null;
    return true;
  }

  /** Writes the request; false where the connection takes not all of it at once, as one does that has ended. */
  private boolean isWritten(ShortExchange exchange) {
    try {
      byte[] request = exchange.request().whole();
      return request != null && channel().write(ByteBuffer.wrap(request)) == request.length;
    } catch (IOException e) {
      return false;
    }
  }

  @Override
  public ChannelReader.Next read(ChannelReader.Buffers buffers) throws IOException {
    ShortExchange done;
    synchronized (this) {
      done = current;
      if (done == null) {
        // Nothing was requested: it is the end, or what cannot be understood.
        return fill() == 0 ? ChannelReader.Next.MORE : ChannelReader.Next.END;
      }
      if (!done.read(this, buffers.piece())) {
        return ChannelReader.Next.MORE;
      }
      current = null;
    }
    boolean kept = done.endReading() && isClean();
    if (kept) {
      owner.release(this);
    }
    done.complete();
    return kept ? ChannelReader.Next.MORE : ChannelReader.Next.END;
  }

  @Override
  public void ended(@Nullable IOException failure) {
    ShortExchange open;
    synchronized (this) {
      over = true;
      open = current;
      current = null;
    }
    close();
    if (open != null) {
      owner.interrupted(open, this, failure);
    }
  }
}
