package io.kvasir.http.client;

import io.kvasir.http.client.PodException.Kind;
import io.kvasir.time.NanoClock;
import java.io.EOFException;
import java.io.IOException;
import java.net.URI;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A call over a connection of {@link PodClient}. */
final class SocketPodCall implements PodCall, RunningCall {
  private final PodConnections connections;
  private final Set<RunningCall> running;
  private final NanoClock clock;
  private final URI pod;
  private final PodOrigin origin;
  private final String method;
  private final RequestBytes request;
  private final long headNanos;
  private final long idleNanos;

  /** Nanosecond clock when the pod's silence is too long; 0 while it is not waited for. */
  private volatile long deadline;

  // Guarded by this: a connection is cut only while it is this call's.
  private @Nullable CallConnection connection;
  private @Nullable Kind abortCause;

  /** Whether it waits for the head. */
  private volatile boolean awaitingHead = true;

  /**
   * A call; nothing is sent yet.
   *
   * @param running has the call while it waits for the pod, so that its deadline is checked and it can be aborted
   */
  SocketPodCall(
      PodConnections connections,
      Set<RunningCall> running,
      NanoClock clock,
      PodRequest request,
      long headNanos,
      long idleNanos) {
    this.connections = connections;
    this.running = running;
    this.clock = clock;
    this.pod = request.pod();
    this.origin = PodOrigin.of(request.pod());
    this.method = request.method();
    this.request = new RequestBytes(request, origin);
    this.headNanos = headNanos;
    this.idleNanos = idleNanos;
  }

  @Override
  public SocketPodResponse send(Runnable sent) throws PodException {
    running.add(this);
    if (connections.isClosed()) {
      running.remove(this);
      throw new PodException(Kind.ABORTED, "the client is closed", null);
    }
    CallConnection kept = connections.pooled(origin);
    if (kept != null) {
      SocketPodResponse answer = exchange(kept, sent);
      if (answer != null) {
        return answer;
      }
      connections.requestResent();
    }
    CallConnection fresh = connect();
    SocketPodResponse answer = exchange(fresh, sent);
    if (answer == null) {
      throw failed(Kind.RESET, "closed the connection before answering", null);
    }
    return answer;
  }

  private CallConnection connect() throws PodException {
    try {
      CallConnection fresh = connections.to(origin);
      attach(fresh);
      connections.connect(fresh);
      return fresh;
    } catch (PodException e) {
      throw e;
    } catch (IOException e) {
      throw failed(Kind.CONNECT, "cannot be reached: " + e.getMessage(), e);
    }
  }

  /** The answer, or null when the connection ended before a byte of it and the request may be sent again. */
  private @Nullable SocketPodResponse exchange(CallConnection on, Runnable sent) throws PodException {
    attach(on);
    deadline = clock.nanos() + headNanos | 1;
    IOException unsent = null;
    try {
      request.writeTo(on);
      sent.run();
    } catch (IOException e) {
      // A pod may refuse a long body and close before it has read it: look for its answer all the same.
      unsent = e;
    }
    try {
      ResponseHead head;
      do {
        int length = on.readHead(ResponseHead.MAX_BYTES);
        if (length < 0) {
          return ended(on, unsent, unsent == null);
        }
        head = ResponseHead.parse(on.bytes(), on.position(), on.position() + length);
        on.skip(length);
      } while (head.status() < 200 && !head.isUpgraded());
      if (head.isUpgraded() && !request.isUpgrade()) {
        throw new MalformedResponseException("an upgrade that was not requested");
      }
      deadline = 0;
      awaitingHead = false;
      request.release();
      return new SocketPodResponse(new Body(), on, head, head.framing(method), unsent == null);
    } catch (PodConnection.HeadTooLongException e) {
      throw failed(Kind.PROTOCOL, "sent a head longer than " + ResponseHead.MAX_BYTES + " bytes", e);
    } catch (MalformedResponseException e) {
      throw failed(Kind.PROTOCOL, "did not answer in HTTP/1.1: " + e.getMessage(), e);
    } catch (PodException e) {
      throw e;
    } catch (IOException e) {
      return ended(on, e, unsent == null);
    }
  }

  /** The connection ended before the head did; {@code sent} is whether the whole request had been sent. */
  private @Nullable SocketPodResponse ended(CallConnection on, @Nullable IOException cause, boolean sent)
      throws PodException {
    if (on.isReused() && on.isClean() && !isCut() && (!sent || isIdempotent())) {
      on.close();
      return null;
    }
    String how = cause == null ? "" : ": " + cause.getMessage();
    throw sent
        ? failed(Kind.RESET, "closed the connection before answering" + how, cause)
        : failed(Kind.UNSENT, "closed the connection before it had the request" + how, cause);
  }

  /** Whether the request may be carried out twice, by RFC 9110 §9.2.2. */
  private boolean isIdempotent() {
    return switch (method) {
      case "GET", "HEAD", "OPTIONS", "PUT", "DELETE", "TRACE" -> true;
      default -> false;
    };
  }

  @Override
  public void abort() {
    cut(Kind.ABORTED);
  }

  @Override
  public void checkDeadline(long now) {
    long end = deadline;
    if (end != 0 && now - end > 0) {
      cut(awaitingHead ? Kind.HEAD_TIMEOUT : Kind.IDLE_TIMEOUT);
    }
  }

  private synchronized void cut(Kind why) {
    if (abortCause == null) {
      abortCause = why;
      if (connection != null) {
        connection.close();
      }
    }
  }

  private synchronized boolean isCut() {
    return abortCause != null;
  }

  private void attach(CallConnection next) throws PodException {
    synchronized (this) {
      connection = next;
      if (abortCause == null) {
        return;
      }
    }
    throw failed(Kind.ABORTED, "", null);
  }

  /** Closes the connection; returns the exception with the reason. */
  private PodException failed(Kind kind, String what, @Nullable Throwable cause) {
    deadline = 0;
    Kind why;
    synchronized (this) {
      why = abortCause == null ? kind : abortCause;
      abortCause = why;
      if (connection != null) {
        connection.close();
        connection = null;
      }
    }
    running.remove(this);
    String message =
        switch (why) {
          case ABORTED -> "the call was aborted";
          case HEAD_TIMEOUT -> "did not answer within " + headNanos / 1_000_000 + " ms";
          case IDLE_TIMEOUT -> "was silent for " + idleNanos / 1_000_000 + " ms in the middle of its answer";
          case CONNECT, UNSENT, RESET, TRUNCATED, PROTOCOL -> what;
        };
    return new PodException(why, pod + " " + message, cause);
  }

  /** The call as its response reads the body by it. */
  private final class Body implements SocketPodResponse.BodyReader {
    @Override
    public int read(CallConnection on, BodyFraming framing, byte[] bytes, int offset, int length) throws PodException {
      deadline = clock.nanos() + idleNanos | 1;
      try {
        return framing.read(on, bytes, offset, length);
      } catch (MalformedResponseException e) {
        throw SocketPodCall.this.failed(Kind.PROTOCOL, "sent a malformed body: " + e.getMessage(), e);
      } catch (EOFException e) {
        throw SocketPodCall.this.failed(Kind.TRUNCATED, "closed the connection in the middle of its answer", e);
      } catch (IOException e) {
        throw SocketPodCall.this.failed(Kind.TRUNCATED, "cut its answer: " + e.getMessage(), e);
      } finally {
        deadline = 0;
      }
    }

    @Override
    public void stream(PlainConnection on, PlainConnection.BodyReader reader) throws PodException {
      deadline = clock.nanos() + idleNanos | 1;
      try {
        on.stream(piece -> {
          boolean more = reader.read(piece);
          deadline = clock.nanos() + idleNanos | 1;
          return more;
        });
      } catch (PodException e) {
        throw e;
      } catch (IOException e) {
        throw SocketPodCall.this.failed(Kind.TRUNCATED, "cut its answer: " + e.getMessage(), e);
      } finally {
        deadline = 0;
      }
    }

    @Override
    public void finished(CallConnection on, boolean reusable) {
      boolean give;
      synchronized (SocketPodCall.this) {
        connection = null;
        give = reusable && abortCause == null && on.isClean();
      }
      running.remove(SocketPodCall.this);
      if (give) {
        connections.release(on);
      } else {
        on.close();
      }
    }

    @Override
    public PodException failed(Kind kind, String what, @Nullable Throwable cause) {
      return SocketPodCall.this.failed(kind, what, cause);
    }
  }
}
