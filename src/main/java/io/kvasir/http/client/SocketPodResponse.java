package io.kvasir.http.client;

import io.kvasir.http.ConnectionThread;
import io.kvasir.http.Headers;
import java.io.IOException;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** A response that is read from a connection. It goes back to the pool when the body was read to its end. */
final class SocketPodResponse implements PodResponse {
  /** First size of the buffer for a whole body of unknown length. */
  private static final int FIRST_BYTES = 4 << 10;

  /** A whole body longer than this keeps whoever reads it busy for so long that it leaves its connection's thread. */
  private static final int LONG_BYTES = 64 << 10;

  private final BodyReader call;
  private final CallConnection connection;
  private final ResponseHead head;
  private final BodyFraming framing;
  private final boolean reusable;
  private boolean ended;

  /** The call that a response's body is read by. */
  interface BodyReader {
    int read(CallConnection connection, BodyFraming framing, byte[] bytes, int offset, int length) throws PodException;

    /** Has {@code reader} read what is left in a loop with others, while the calling thread waits. */
    void stream(PlainConnection connection, PlainConnection.BodyReader reader) throws PodException;

    /** Gives the connection back, if it can be used again, or closes it: no more of the body is read. */
    void finished(CallConnection connection, boolean reusable);

    /** Closes the connection; returns the exception with the reason. */
    PodException failed(PodException.Kind kind, String what, @Nullable Throwable cause);
  }

  SocketPodResponse(
      BodyReader call, CallConnection connection, ResponseHead head, BodyFraming framing, boolean sentWhole) {
    this.call = call;
    this.connection = connection;
    this.head = head;
    this.framing = framing;
    this.reusable = sentWhole && head.persistent() && framing.leavesConnectionOpen();
    endIfRead();
  }

  @Override
  public int status() {
    return head.status();
  }

  @Override
  public Headers headers() {
    return head.headers();
  }

  @Override
  public long contentLength() {
    return framing.length();
  }

  @Override
  public int read(byte[] bytes, int offset, int length) throws PodException {
    while (!ended) {
      int read = call.read(connection, framing, bytes, offset, length);
      endIfRead();
      if (read > 0) {
        return read;
      }
    }
    return -1;
  }

  @Override
  public boolean canStream() {
    return connection instanceof PlainConnection;
  }

  @Override
  public boolean stream(PieceReceiver receiver) throws IOException {
    if (!ended) {
      if (!(connection instanceof PlainConnection plain)) {
        throw new IllegalStateException("an encrypted answer cannot be streamed");
      }
      StreamedBody body = new StreamedBody(receiver);
      call.stream(plain, body);
      body.throwFailure();
      endIfRead();
    }
    return ended;
  }

  private final class StreamedBody implements PlainConnection.BodyReader {
    private final PieceReceiver receiver;

    /** What the receiver failed with, which is not the pod's failure. */
    private @Nullable Throwable failure;

    StreamedBody(PieceReceiver receiver) {
      this.receiver = receiver;
    }

    @Override
    public boolean read(byte[] piece) throws PodException {
      int length = call.read(connection, framing, piece, 0, piece.length);
      try {
        return (length == 0 || receiver.accept(piece, length)) && !framing.hasEnded();
      } catch (IOException | RuntimeException | Error e) {
        failure = e;
        return false;
      }
    }

    void throwFailure() throws IOException {
      switch (failure) {
        case null -> {}
        case IOException e -> throw e;
        case RuntimeException e -> throw e;
        case Error e -> throw e;
        default -> throw new IllegalStateException(failure);
      }
    }
  }

  @Override
  public @Nullable PodTunnel tunnel() throws PodException {
    if (!head.isUpgraded()) {
      return null;
    }
    return new PodTunnel(connection, this::broken);
  }

  private PodException broken(IOException e) {
    return call.failed(PodException.Kind.TRUNCATED, "cut the connection: " + e.getMessage(), e);
  }

  @Override
  public boolean hasEnded() {
    return ended;
  }

  private void endIfRead() {
    if (!ended && framing.hasEnded()) {
      ended = true;
      call.finished(connection, reusable);
    }
  }

  @Override
  public byte[] readAll(int limit) throws PodException {
    byte[] bytes = new byte[Math.min(limit, FIRST_BYTES)];
    int size = 0;
    while (true) {
      if (size == bytes.length) {
        if (ended) {
          return bytes;
        }
        if (size >= LONG_BYTES) {
          ConnectionThread.leaveConnectionForGood();
        }
        bytes = Arrays.copyOf(bytes, (int) Math.clamp(bytes.length * 2L, 1, limit + 1L));
      }
      int read = read(bytes, size, bytes.length - size);
      if (read < 0) {
        return size == bytes.length ? bytes : Arrays.copyOf(bytes, size);
      }
      size += read;
      if (size > limit) {
        ended = true;
        throw call.failed(PodException.Kind.PROTOCOL, "sent more than the " + limit + " bytes allowed here", null);
      }
    }
  }

  @Override
  public void close() {
    if (!ended) {
      ended = true;
      call.finished(connection, false);
    }
  }
}
