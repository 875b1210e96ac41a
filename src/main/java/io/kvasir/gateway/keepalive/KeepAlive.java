package io.kvasir.gateway.keepalive;

import io.kvasir.gateway.error.ApiBoundary;
import io.kvasir.gateway.error.ApiError;
import io.kvasir.gateway.error.ErrorFormat;
import io.kvasir.http.ByteSink;
import io.kvasir.http.DeferringSink;
import io.kvasir.http.Headers;
import io.kvasir.http.StreamingBody;
import io.kvasir.http.server.Exchange;
import io.kvasir.http.server.Response;
import io.kvasir.time.NanoClock;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The sink of one client's stream, which writes a keep-alive (a comment, or what the API has for it) when nothing has
 * come for long. Never within an event, and never while events flow.
 *
 * <p>Before the worker's first byte that means that the answer's head is sent early, as that of an event stream: what
 * then fails becomes an error event in the stream, and until something of an answer has come the request can still be
 * tried on another worker.
 *
 * <p>The thread that runs the body writes, and {@link #check} may have another write in between; the one that writes
 * has the lock.
 */
public final class KeepAlive implements DeferringSink {
  private static final Logger LOG = LoggerFactory.getLogger(KeepAlive.class);

  private static final String EVENT_STREAM = "text/event-stream";

  /** Is told of keep-alives. */
  @FunctionalInterface
  public interface Listener {
    /** One has been written; {@code waiting} is whether nothing of the answer had come yet. */
    void keepAliveSent(boolean waiting);
  }

  private final Exchange exchange;
  private final ErrorFormat format;
  private final Headers head;
  private final long silence;
  private final Executor executor;
  private final Consumer<KeepAlive> onEnd;
  private final Listener listener;
  private final ReentrantLock writing = new ReentrantLock();
  private final AtomicBoolean writingKeepAlive = new AtomicBoolean();

  // Guarded by the lock.
  private @Nullable ByteSink sink;
  private boolean headSentEarly;
  private boolean answered;

  /** The last four bytes written, the last one lowest; at first the end of an event that never was. */
  private int last = ('\n' << 8) | '\n';

  /** Pieces of the answer that were written; changed under the lock, read by the checking thread. */
  private final AtomicLong pieces = new AtomicLong();

  // The checking thread's.
  private long lastPieces;
  private long quietSince;

  /**
   * The sink of a stream that has just been requested.
   *
   * @param silence without a piece of the answer, after which a keep-alive is written
   * @param executor runs what may block
   * @param onEnd called when there is nothing to check any more
   */
  KeepAlive(
      Exchange exchange,
      ErrorFormat format,
      Headers head,
      Duration silence,
      NanoClock clock,
      Executor executor,
      Consumer<KeepAlive> onEnd,
      Listener listener) {
    this.exchange = exchange;
    this.format = format;
    this.head = head;
    this.silence = silence.toNanos();
    this.quietSince = clock.nanos();
    this.executor = executor;
    this.onEnd = onEnd;
    this.listener = listener;
  }

  /**
   * Has a keep-alive written if the stream has been silent for long. Called by one thread; does not block.
   *
   * @param now on the clock that it was made with
   */
  void check(long now) {
    long written = pieces.getAcquire();
    if (written != lastPieces) {
      lastPieces = written;
      quietSince = now;
    } else if (now - quietSince >= silence && writingKeepAlive.compareAndSet(false, true)) {
      quietSince = now;
      executor.execute(this::writeKeepAlive);
    }
  }

  /**
   * The answer of what has the request executed, or the error that took its place. From here on every answer has to
   * pass through what keeps the stream alive.
   */
  public Response answer(ApiBoundary boundary, ApiBoundary.AnswerSource source) throws InterruptedException {
    boolean wrapped = false;
    try {
      Response answer = wrap(boundary.answer(source));
      wrapped = true;
      return answer;
    } finally {
      if (!wrapped) {
        abandon();
      }
    }
  }

  /**
   * The client's answer, which is watched until it is over.
   *
   * @param answer as it would be if nothing had been sent yet
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

  /** Ends the watch: there is no answer. */
  private void abandon() {
    onEnd.accept(this);
  }

  @Override
  public void write(byte[] bytes, int offset, int length) throws IOException {
    writing.lock();
    try {
      ByteSink to = opened();
      to.write(bytes, offset, length);
      passed(bytes, offset, length);
      pieces.setRelease(pieces.getPlain() + 1);
    } finally {
      writing.unlock();
    }
  }

  @Override
  public boolean canOffer() {
    writing.lock();
    try {
      return sink instanceof DeferringSink deferring && deferring.canOffer();
    } finally {
      writing.unlock();
    }
  }

  @Override
  public void offer(byte[] bytes, int offset, int length) throws IOException {
    writing.lock();
    try {
      deferring().offer(bytes, offset, length);
      passed(bytes, offset, length);
      pieces.setRelease(pieces.getPlain() + 1);
    } finally {
      writing.unlock();
    }
  }

  @Override
  public boolean isBehind() {
    writing.lock();
    try {
      return sink instanceof DeferringSink deferring && deferring.isBehind();
    } finally {
      writing.unlock();
    }
  }

  @Override
  public void flush() throws IOException {
    writing.lock();
    try {
      deferring().flush();
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

  /** Writes an answer after the head of an event stream has been sent. */
  private void continueEarly(Response answer, boolean events) throws IOException {
    switch (answer) {
      case Response.Streaming streamed when events && streamed.status() < 300 -> streamed.body().run(this);
      case Response.Buffered whole when events && whole.status() < 300 -> writeAll(whole.body());
      case Response.Buffered whole when whole.status() >= 300 -> writeAll(format.event(exchange.path(), whole));
      case Response.Buffered _ -> writeAll(noStream());
      case Response.Streaming streamed -> {
        streamed.body().abandon();
        LOG.warn("{} was answered with status {} and no event stream, after the head of one had been sent",
            exchange.path(), streamed.status());
        writeAll(noStream());
      }
    }
  }

  private byte[] noStream() {
    return format.event(
        exchange.path(),
        format.answer(ApiError.of(502, "worker_failed", "The worker's answer was none that can be streamed."), null));
  }

  private void writeAll(byte[] bytes) throws IOException {
    write(bytes, 0, bytes.length);
  }

  private void writeKeepAlive() {
    writing.lock();
    try {
      if (sink == null && !answered) {
        headSentEarly = true;
        sink = exchange.sendHead(200, head);
      }
      if (sink != null && isBetweenEvents()) {
        byte[] keepAlive = format.keepAlive();
        // Nothing may wait with the lock that the threads of streams take.
        if (!canOffer()) {
          opened().write(keepAlive, 0, keepAlive.length);
        } else if (isBehind()) {
          return;
        } else {
          deferring().offer(keepAlive, 0, keepAlive.length);
        }
        passed(keepAlive, 0, keepAlive.length);
        listener.keepAliveSent(!answered);
      }
    } catch (IOException disconnected) {
      // The body finds that out by itself, or the exchange is cancelled.
      onEnd.accept(this);
    } finally {
      writing.unlock();
      writingKeepAlive.set(false);
    }
  }

  private ByteSink opened() throws IOException {
    ByteSink to = sink;
    if (to == null) {
      throw new IOException("nothing can be written before the head");
    }
    return to;
  }

  private DeferringSink deferring() throws IOException {
    if (opened() instanceof DeferringSink deferring) {
      return deferring;
    }
    throw new IOException("the client cannot be written without waiting");
  }

  private void passed(byte[] bytes, int offset, int length) {
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

  /** Whether a blank line was written last. A CR alone may still be the first half of a line's end. */
  private boolean isBetweenEvents() {
    int before = last >>> 8 & 0xff;
    return (last & 0xff) == '\n'
        && (before == '\n' || (before == '\r' && (last >>> 16 & 0xff) == '\n'));
  }
}
