package io.kvasir.sim.http;

import io.kvasir.sim.http.SimHttpReader.ProtocolException;
import io.kvasir.sim.http.SimHttpReader.ReadRequest;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One connection: the server's thread reads its requests, each is answered on another, one at a time. While one is
 * answered the next is read, and no more of them.
 */
final class SimHttpConnection implements SimHttpSocket.Owner {
  private static final Logger LOG = LoggerFactory.getLogger(SimHttpConnection.class);
  private static final byte[] CONTINUE = "HTTP/1.1 100 Continue\r\n\r\n".getBytes(StandardCharsets.US_ASCII);
  private static final ByteBuffer NOTHING = ByteBuffer.allocate(0);

  private final SimHttpSocket socket;
  private final SimHttpHandler handler;
  private final ArrivalOrder arrivals;
  private final SimHttpReader reader;

  /** The request that is answered, and the one that is next. Guarded by this, as the two after. */
  private @Nullable Turn current;

  private @Nullable Turn next;

  /** What has come after the next request: the socket is not read meanwhile. */
  private ByteBuffer unread = NOTHING;

  private long idleSince = System.nanoTime();

  private record Turn(SimHttpExchange exchange, SimHttpHandler handler) {}

  /** A connection that has just been accepted, from now on read with the server's selector. */
  SimHttpConnection(
      SocketChannel channel, Selector selector, SimHttpLimits limits, SimHttpHandler handler, ArrivalOrder arrivals)
      throws IOException {
    this.handler = handler;
    this.arrivals = arrivals;
    this.reader = new SimHttpReader(limits.bodyBytes());
    this.socket = new SimHttpSocket(channel, selector, this);
  }

  /**
   * Reads and writes what can be; on the server's thread, with its buffer.
   *
   * @param answering takes the answering of what was read
   */
  void serve(ByteBuffer buffer, Executor answering) {
    try {
      if (socket.readInto(buffer)) {
        parse(buffer, answering);
      }
    } catch (IOException e) {
      LOG.trace("A connection ended", e);
      socket.close();
    }
  }

  /** Closes it. Any thread. */
  void close() {
    socket.close();
  }

  /** Closes it when it has waited for too long for its next request. */
  synchronized void closeIfIdle(long now, long idleNanos) {
    if (current == null && !reader.isMidway() && now - idleSince >= idleNanos) {
      socket.close();
    }
  }

  private synchronized void parse(ByteBuffer in, Executor answering) throws IOException {
    try {
      while (next == null && in.hasRemaining()) {
        ReadRequest request = reader.read(in);
        if (reader.takeContinue()) {
          boolean _ = socket.writeNow(ByteBuffer.wrap(CONTINUE));
        }
        if (request != null) {
          take(new Turn(new SimHttpExchange(request, socket, arrivals.next()), handler), answering);
        }
      }
      unread = in.hasRemaining() ? ByteBuffer.allocate(in.remaining()).put(in).flip() : NOTHING;
      if (unread.hasRemaining()) {
        socket.pauseReading();
      }
    } catch (ProtocolException e) {
      socket.pauseReading();
      ReadRequest unreadable = new ReadRequest("", "", Map.of(), new byte[0], false);
      take(
          new Turn(
              new SimHttpExchange(unreadable, socket, arrivals.next()),
              exchange -> exchange.reply(e.status(), "text/plain; charset=utf-8", e.text())),
          answering);
    }
  }

  private void take(Turn turn, Executor answering) {
    if (current == null) {
      begin(turn, answering);
    } else {
      if (!current.exchange.isEnded()) {
        turn.exchange.letLaterPass(); // it waits for another's answer
      }
      next = turn;
    }
  }

  private void begin(Turn turn, Executor answering) {
    current = turn;
    answering.execute(() -> answer(turn));
  }

  private void answer(Turn turn) {
    SimHttpExchange exchange = turn.exchange;
    boolean reusable = false;
    try {
      turn.handler.handle(exchange);
      reusable = exchange.complete();
    } catch (IOException e) {
      LOG.trace("A client closed its connection before the answer was written", e);
    } catch (RuntimeException e) {
      LOG.error("{} {} failed", exchange.method(), exchange.path(), e);
      reusable = exchange.fail();
    } finally {
      exchange.letLaterPass();
      answered(reusable);
    }
  }

  private synchronized void answered(boolean reusable) {
    current = null;
    idleSince = System.nanoTime();
    try {
      Turn turn = next;
      next = null;
      if (!reusable) {
        if (turn != null) {
          turn.exchange.letLaterPass();
        }
        socket.close();
      } else if (turn != null) {
        begin(turn, Thread::startVirtualThread);
        readOn();
      }
    } catch (IOException e) {
      LOG.trace("A connection ended", e);
      socket.close();
    }
  }

  private void readOn() throws IOException {
    if (unread.hasRemaining()) {
      parse(unread, Thread::startVirtualThread);
      if (!unread.hasRemaining()) {
        socket.readOn();
      }
    }
  }

  /** The answer under way is cancelled. */
  @Override
  public void closed() {
    Turn open = current();
    if (open != null) {
      open.exchange.cancel();
    }
  }

  private synchronized @Nullable Turn current() {
    return current;
  }
}
