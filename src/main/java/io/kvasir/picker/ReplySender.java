package io.kvasir.picker;

import io.kvasir.http.ConnectionThread;
import com.google.protobuf.ByteString;
import com.google.protobuf.UnsafeByteOperations;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.Status;
import io.kvasir.picker.extproc.ProcessingRequest;
import io.kvasir.picker.extproc.ProcessingResponse;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.Executor;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;

/** The picker's side of a stream. Thread-safe; what is sent by one thread keeps its order. */
final class ReplySender {
  private final ServerCall<ProcessingRequest, ProcessingResponse> call;
  private final Executor connection;
  private final ConnectionThread thread;

  /** No monitor: a virtual thread that waits for one is woken by way of a thread more. */
  private final ReentrantLock lock = new ReentrantLock();

  private final Condition changed = lock.newCondition();

  // Guarded by the lock.
  private boolean closed;

  /** Whether the head of the picker's side is sent: with its first message, as apart it would be one more write. */
  private boolean begun;

  /** What the connection's thread is about to send, in one go. */
  private final Queue<ProcessingResponse> together = new ArrayDeque<>(2);

  /** Whether the connection's thread is about to end the stream. */
  private boolean ending;

  /**
   * The side of a stream that has begun.
   *
   * @param connection the thread of its connection
   * @param thread the one that waits for the proxy
   */
  ReplySender(
      ServerCall<ProcessingRequest, ProcessingResponse> call, Executor connection, ConnectionThread thread) {
    this.call = call;
    this.connection = connection;
    this.thread = thread;
  }

  /**
   * Sends a message, whether the proxy keeps up or not.
   *
   * @throws IOException when the stream has ended
   */
  void send(ProcessingResponse reply) throws IOException {
    lock.lock();
    try {
      requireOpen();
      sendTogether();
      write(reply);
    } finally {
      lock.unlock();
    }
  }

  /**
   * Sends messages in one go, so that the proxy sees them at once, whether it keeps up or not. Does not wait.
   *
   * @throws IOException when the stream has ended
   */
  void sendTogether(List<ProcessingResponse> replies) throws IOException {
    lock.lock();
    try {
      requireOpen();
      together.addAll(replies);
    } finally {
      lock.unlock();
    }
    connection.execute(() -> {
      lock.lock();
      try {
        sendTogether();
      } finally {
        lock.unlock();
      }
    });
  }

  /**
   * Sends a head and its body as the proxy takes them, but for the last piece and what goes with that.
   *
   * @param body which is not copied
   * @param piece makes a message of a piece of it, the last one or not
   * @param trailers null where there are none
   * @return what is left to be sent, which is little
   * @throws IOException when the stream has ended
   */
  List<ProcessingResponse> sendBeginning(
      ProcessingResponse head, byte[] body, BiFunction<ByteString, Boolean, ProcessingResponse> piece,
      @Nullable ProcessingResponse trailers)
      throws IOException {
    List<ProcessingResponse> left = new ArrayList<>(3);
    left.add(head);
    int at = 0;
    while (body.length - at > Replies.PIECE_BYTES) {
      left.add(piece.apply(UnsafeByteOperations.unsafeWrap(body, at, Replies.PIECE_BYTES), false));
      awaitReady();
      for (ProcessingResponse message : left) {
        send(message);
      }
      left.clear();
      at += Replies.PIECE_BYTES;
    }
    awaitReady();
    left.add(piece.apply(UnsafeByteOperations.unsafeWrap(body, at, body.length - at), trailers == null));
    if (trailers != null) {
      left.add(trailers);
    }
    return left;
  }

  private void requireOpen() throws IOException {
    if (closed || ending) {
      throw new IOException("the proxy's stream has ended");
    }
  }

  /** Sends what waits to be sent, before what follows it. */
  private void sendTogether() {
    while (!closed && !together.isEmpty()) {
      write(together.remove());
    }
  }

  private void write(ProcessingResponse reply) {
    if (!begun) {
      begun = true;
      call.sendHeaders(new Metadata());
    }
    call.sendMessage(reply);
  }

  /** Asks the proxy for its next message. */
  void request() {
    call.request(1);
  }

  /** Whether the proxy has taken what it was sent. */
  boolean isReady() {
    return call.isReady();
  }

  /**
   * Waits until the proxy has taken what it was sent.
   *
   * @throws IOException when the stream has ended
   */
  void awaitReady() throws IOException {
    lock.lock();
    try {
      while (!closed && !call.isReady()) {
        thread.await(changed, true);
      }
      if (closed) {
        throw new IOException("the proxy's stream has ended");
      }
    } catch (InterruptedException stopping) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted while the proxy is slow", stopping);
    } finally {
      lock.unlock();
    }
  }

  /** Wakes who waits for the proxy. */
  void ready() {
    lock.lock();
    try {
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Sends a last message; nothing when the stream has ended. */
  void end(ProcessingResponse last) {
    lock.lock();
    try {
      if (!closed) {
        sendTogether();
        write(last);
        end();
      }
    } finally {
      lock.unlock();
    }
  }

  /**
   * Sends the last messages and ends the stream, so that the proxy sees all of that at once. Does not wait.
   *
   * @throws IOException when the stream has ended
   */
  void endTogether(List<ProcessingResponse> last) throws IOException {
    lock.lock();
    try {
      requireOpen();
      together.addAll(last);
      ending = true;
    } finally {
      lock.unlock();
    }
    connection.execute(() -> {
      lock.lock();
      try {
        ending = false;
        end();
      } finally {
        lock.unlock();
      }
    });
  }

  /** Ends the stream in peace. Idempotent. */
  void end() {
    lock.lock();
    try {
      if (!ending) {
        sendTogether();
        close(Status.OK);
      }
    } finally {
      lock.unlock();
    }
  }

  /** Cuts the stream, so that the proxy resets what it has begun to answer. Idempotent. */
  void cut() {
    lock.lock();
    try {
      close(Status.INTERNAL.withDescription("the response was cut"));
    } finally {
      lock.unlock();
    }
  }

  private void close(Status status) {
    if (!closed) {
      closed = true;
      call.close(status, new Metadata());
      changed.signalAll();
    }
  }

  /** The proxy has ended the stream. */
  void closedByProxy() {
    lock.lock();
    try {
      closed = true;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }
}
