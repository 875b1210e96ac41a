package io.kvasir.gateway;

import io.kvasir.http.ByteSink;
import io.kvasir.http.Headers;
import io.kvasir.http.StreamingBody;
import io.kvasir.http.server.Exchange;
import io.kvasir.http.server.Response;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One stream's way to its client, on which something is said when nothing has come for long: a comment, or what the
 * API has for it. Never within an event, and never while events flow.
 *
 * <p>Before the worker's first byte that means that the answer's head goes out early, as that of an event stream:
 * what then fails is told in the stream, as an error event, and until something of an answer has come the request can
 * still be tried elsewhere.
 *
 * <p>The relay's thread writes, and {@link #check} may have another thread write in between; whoever writes has the
 * lock.
 */
final class KeepAlive implements ByteSink {
  private static final Logger LOG = LoggerFactory.getLogger(KeepAlive.class);

  private static final String EVENT_STREAM = "text/event-stream";

  private final Exchange exchange;
  private final ErrorFormat shape;
  private final Headers head;
  private final int maxQuietChecks;
  private final Consumer<KeepAlive> onEnd;
  private final GatewayMetrics metrics;
  private final ReentrantLock writing = new ReentrantLock();
  private final AtomicBoolean writingKeepAlive = new AtomicBoolean();

  // Guarded by the lock.
  private @Nullable ByteSink sink;
  private boolean headSentEarly;
  private boolean answered;

  /** The last four bytes that went out, the last one lowest; at first the end of an event that never was. */
  private int last = ('\n' << 8) | '\n';

  /** Pieces of the answer that went out; written under the lock, read by whoever looks. */
  private final AtomicLong pieces = new AtomicLong();

  // The looking thread's.
  private long lastPieces;
  private int quietChecks;

  /**
   * A stream that has just been asked for.
   *
   * @param patience looks without a piece of the answer after which something is said
   * @param over told when there is nothing to look at any more
   */
  KeepAlive(
      Exchange exchange,
      ErrorFormat shape,
      Headers head,
      int patience,
      Consumer<KeepAlive> over,
      GatewayMetrics metrics) {
    this.exchange = exchange;
    this.shape = shape;
    this.head = head;
    this.maxQuietChecks = patience;
    this.onEnd = over;
    this.metrics = metrics;
  }

  /** Looks whether the stream was silent for long. Called from one thread, at equal intervals; does not wait. */
  void check() {
    long now = pieces.getAcquire();
    quietChecks = now == lastPieces ? quietChecks + 1 : 0;
    lastPieces = now;
    if (quietChecks >= maxQuietChecks && writingKeepAlive.compareAndSet(false, true)) {
      quietChecks = 0;
      Thread.startVirtualThread(this::sendComment);
    }
  }

  /**
   * What the client is given now that the answer is here. The stream is watched until that is over.
   *
   * @param answer as it would be given if nothing had gone out yet
   */
  Response wrap(Response answer) {
    boolean early;
    writing.lock();
    try {
      answered = true;
      early = headSentEarly;
    } finally {
      writing.unlock();
    }
    boolean events = isEventStream(answer.headers());
    if (early) {
      return new Response.Streaming(200, head, new WatchedBody(answer, _ -> continueEarly(answer, events)));
    }
    if (events && answer instanceof Response.Streaming(int status, Headers headers, StreamingBody body)) {
      return new Response.Streaming(status, headers, new WatchedBody(answer, client -> {
        open(client);
        body.run(this);
      }));
    }
    onEnd.accept(this);
    return answer;
  }

  /** The request ended without an answer. */
  void abandon() {
    onEnd.accept(this);
  }

  @Override
  public void write(byte[] bytes, int offset, int length) throws IOException {
    writing.lock();
    try {
      pass(bytes, offset, length);
      pieces.setRelease(pieces.getPlain() + 1);
    } finally {
      writing.unlock();
    }
  }

  /** The body of an answer that is watched until it is over. */
  private final class WatchedBody implements StreamingBody {
    private final Response answer;
    private final Writer writer;

    WatchedBody(Response answer, Writer writer) {
      this.answer = answer;
      this.writer = writer;
    }

    @Override
    public void run(ByteSink client) throws IOException {
      try {
        writer.writeTo(client);
      } finally {
        onEnd.accept(KeepAlive.this);
      }
    }

    @Override
    public void abandon() {
      if (answer instanceof Response.Streaming streamed) {
        streamed.body().abandon();
      }
      onEnd.accept(KeepAlive.this);
    }
  }

  private void open(ByteSink client) {
    writing.lock();
    try {
      sink = client;
    } finally {
      writing.unlock();
    }
  }

  /** Goes on after a head that told of an event stream. */
  private void continueEarly(Response answer, boolean events) throws IOException {
    switch (answer) {
      case Response.Streaming streamed when events && streamed.status() < 300 -> streamed.body().run(this);
      case Response.Buffered whole when events && whole.status() < 300 -> writeAll(whole.body());
      case Response.Buffered whole when whole.status() >= 300 -> writeAll(shape.event(exchange.path(), whole));
      case Response.Buffered _ -> writeAll(notPromised());
      case Response.Streaming streamed -> {
        streamed.body().abandon();
        LOG.warn("{} was answered with status {} and no event stream, after the head of one had been sent",
            exchange.path(), streamed.status());
        writeAll(notPromised());
      }
    }
  }

  private byte[] notPromised() {
    return shape.event(
        exchange.path(),
        shape.answer(ApiError.of(502, "worker_failed", "The worker's answer was none that can be streamed.")));
  }

  private void writeAll(byte[] bytes) throws IOException {
    write(bytes, 0, bytes.length);
  }

  /** Sends a comment, if the stream is still silent and between two events. */
  private void sendComment() {
    writing.lock();
    try {
      if (sink == null && !answered) {
        headSentEarly = true;
        sink = exchange.sendHead(200, head);
      }
      if (sink != null && isBetweenEvents()) {
        byte[] something = shape.keepAlive();
        pass(something, 0, something.length);
        metrics.keepAliveSent(!answered);
      }
    } catch (IOException gone) {
      // The relay finds that out by itself, or the exchange has told the dispatcher.
      onEnd.accept(this);
    } finally {
      writing.unlock();
      writingKeepAlive.set(false);
    }
  }

  private void pass(byte[] bytes, int offset, int length) throws IOException {
    ByteSink to = sink;
    if (to == null) {
      throw new IOException("nothing can be written before the head");
    }
    to.write(bytes, offset, length);
    for (int at = Math.max(offset, offset + length - 4); at < offset + length; at++) {
      last = (last << 8) | (bytes[at] & 0xff);
    }
  }

  /** A compressed one cannot be added to. */
  private static boolean isEventStream(Headers headers) {
    String type = headers.first("Content-Type");
    String encoding = headers.first("Content-Encoding");
    return type != null
        && type.regionMatches(true, 0, EVENT_STREAM, 0, EVENT_STREAM.length())
        && (encoding == null || encoding.equalsIgnoreCase("identity"));
  }

  /** Whether a blank line was the last that went out. A CR alone may still be the first half of a line's end. */
  private boolean isBetweenEvents() {
    int before = last >>> 8 & 0xff;
    return (last & 0xff) == '\n'
        && (before == '\n' || (before == '\r' && (last >>> 16 & 0xff) == '\n'));
  }
}
