package io.kvasir.http.client;

import io.kvasir.http.client.PodException.Kind;
import java.io.EOFException;
import java.io.IOException;
import java.net.URI;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * A short request whose answer no thread waits for; it may be sent twice. Its time begins when it is written on a
 * connection. Thread-safe: it is begun
 * on one thread, read on another, and cut by any.
 */
final class ShortExchange implements RunningCall {
  private static final int OK = 200;
  private static final int BUFFER = 32 << 10;

  private final URI pod;
  private final PodOrigin origin;
  private final RequestBytes request;
  private final long maxBytes;
  private final ShortAnswer.Body body;
  private final long timeoutNanos;
  private final CompletableFuture<ShortAnswer> answer = new CompletableFuture<>();

  /** Nanosecond clock when it has taken too long; 0 before it is written. */
  private volatile long deadline;

  // Guarded by this: a connection is cut only while it is this exchange's.
  private @Nullable PodConnection connection;
  private @Nullable Kind cutCause;

  /** Whether the answer has. */
  private volatile boolean begun;

  // The connection's reader's.
  private @Nullable ResponseHead head;
  private @Nullable BodyFraming framing;
  private long length;

  /**
   * An exchange; nothing is sent yet.
   *
   * @param request a GET, or a POST that means the same if it comes twice
   * @param maxBytes of the body that are read
   * @param body takes the body of an answer with status 200; others are read over
   */
  ShortExchange(PodRequest request, long maxBytes, ShortAnswer.Body body, long timeoutNanos) {
    this.pod = request.pod();
    this.origin = PodOrigin.of(request.pod());
    this.request = new RequestBytes(request, origin);
    this.maxBytes = maxBytes;
    this.body = body;
    this.timeoutNanos = timeoutNanos;
  }

  PodOrigin origin() {
    return origin;
  }

  RequestBytes request() {
    return request;
  }

  CompletableFuture<ShortAnswer> answer() {
    return answer;
  }

  /** Has the connection cut when this is; false when it already is. */
  synchronized boolean attach(PodConnection next) {
    connection = next;
    return cutCause == null;
  }

  /** Begins its time. */
  void startTimer(long now) {
    deadline = now + timeoutNanos | 1;
  }

  /** The connection is not this exchange's any more; false when it was cut. */
  private synchronized boolean detach() {
    connection = null;
    return cutCause == null;
  }

  /**
   * Reads what has come of the answer.
   *
   * @param buffer for a piece of the body at a time
   * @return whether nothing more is to be read
   */
  boolean read(PodConnection on, byte[] buffer) throws IOException {
    ResponseHead known = head == null ? readHead(on) : head;
    BodyFraming rest = framing;
    if (known == null || rest == null) {
      return false;
    }
    while (!rest.hasEnded()) {
      int read = rest.read(on, buffer, 0, buffer.length);
      if (read == 0) {
        return rest.hasEnded();
      }
      if (!take(known.status(), buffer, read)) {
        return true;
      }
    }
    return true;
  }

  /** Takes a piece of the body; false when it is longer than is to be read. */
  private boolean take(int status, byte[] buffer, int bytes) {
    length += bytes;
    if (length > maxBytes) {
      return false;
    }
    if (status == OK) {
      body.accept(buffer, bytes);
    }
    return true;
  }

  /** Carries it out by a call, for whose answer the calling thread waits. */
  void await(PodCall call) {
    try (PodResponse response = call.send()) {
      long began = System.nanoTime();
      byte[] buffer = new byte[BUFFER];
      int read = response.read(buffer, 0, buffer.length);
      while (read >= 0 && take(response.status(), buffer, read)) {
        if (System.nanoTime() - began > timeoutNanos) {
          throw new PodException(Kind.IDLE_TIMEOUT, pod + " did not answer whole in time", null);
        }
        read = response.read(buffer, 0, buffer.length);
      }
      answer.complete(new ShortAnswer(response.status(), read < 0));
    } catch (PodException | RuntimeException e) {
      answer.completeExceptionally(e);
    }
  }

  private @Nullable ResponseHead readHead(PodConnection on) throws IOException {
    ResponseHead last;
    do {
      int bytes = on.readHead(ResponseHead.MAX_BYTES);
      if (bytes < 0) {
        throw new EOFException("the connection was closed");
      }
      if (bytes == 0) {
        return null;
      }
      begun = true;
      last = ResponseHead.parse(on.bytes(), on.position(), on.position() + bytes);
      on.skip(bytes);
    } while (last.status() < 200 && !last.isUpgraded());
    if (last.isUpgraded()) {
      throw new MalformedResponseException("an upgrade that was not requested");
    }
    framing = last.framing("GET");
    head = last;
    return last;
  }

  /**
   * The answer has been read as far as it is to be. Lets go of the connection.
   *
   * @return whether the connection can serve another exchange
   */
  boolean endReading() {
    ResponseHead known = head;
    BodyFraming rest = framing;
    boolean mine = detach();
    return mine && isWhole() && known != null && known.persistent() && rest != null && rest.leavesConnectionOpen();
  }

  private boolean isWhole() {
    return framing != null && framing.hasEnded() && length <= maxBytes;
  }

  /** Completes it with what was read. */
  void complete() {
    ResponseHead known = head;
    if (known == null) {
      throw new IllegalStateException("nothing of the answer to " + pod + " has been read");
    }
    answer.complete(new ShortAnswer(known.status(), isWhole()));
  }

  /** Whether nothing of an answer has come, though its time is not over. */
  boolean isUnanswered() {
    return !begun && detach();
  }

  /** The connection ended before the answer did, or what came is none. */
  void fail(@Nullable IOException how) {
    switch (how) {
      case PodConnection.HeadTooLongException e ->
          fail(Kind.PROTOCOL, "sent a head longer than " + ResponseHead.MAX_BYTES + " bytes", e);
      case MalformedResponseException e -> fail(Kind.PROTOCOL, "did not answer in HTTP/1.1: " + e.getMessage(), e);
      case null, default -> fail(
          head == null ? Kind.RESET : Kind.TRUNCATED,
          "closed the connection " + (head == null ? "before answering" : "in the middle of its answer"), how);
    }
  }

  void fail(Kind kind, String what, @Nullable Throwable cause) {
    Kind why;
    synchronized (this) {
      connection = null;
      why = cutCause == null ? kind : cutCause;
      cutCause = why;
    }
    String message =
        switch (why) {
          case ABORTED -> "the call was aborted";
          case HEAD_TIMEOUT, IDLE_TIMEOUT -> "did not answer within " + timeoutNanos / 1_000_000 + " ms";
          case CONNECT, UNSENT, RESET, TRUNCATED, PROTOCOL -> what;
        };
    answer.completeExceptionally(new PodException(why, pod + " " + message, cause));
  }

  @Override
  public void checkDeadline(long now) {
    long end = deadline;
    if (end != 0 && now - end > 0) {
      cut(begun ? Kind.IDLE_TIMEOUT : Kind.HEAD_TIMEOUT);
    }
  }

  @Override
  public void abort() {
    cut(Kind.ABORTED);
  }

  private void cut(Kind why) {
    PodConnection mine;
    synchronized (this) {
      if (cutCause != null || answer.isDone()) {
        return;
      }
      cutCause = why;
      mine = connection;
      if (mine != null) {
        // While it is still this exchange's. To have its reader know may run that reader's end, outside of this lock.
        mine.closeSocket();
      }
    }
    if (mine != null) {
      mine.close();
    }
  }
}
