package io.kvasir.picker;

import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.Status;
import io.kvasir.picker.extproc.ProcessingRequest;
import io.kvasir.picker.extproc.ProcessingResponse;
import java.io.IOException;
import java.util.concurrent.Executor;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/** The picker's side of a stream. Thread-safe; what is sent by one thread keeps its order. */
final class ReplySender {
  private final ServerCall<ProcessingRequest, ProcessingResponse> call;
  private final Executor connection;

  /** No monitor: a virtual thread that waits for one is woken by way of a thread more. */
  private final ReentrantLock lock = new ReentrantLock();

  private final Condition changed = lock.newCondition();

  // Guarded by the lock.
  private boolean closed;

  /** Whether the connection's thread is about to end the stream. */
  private boolean ending;

  /**
   * The side of a stream that has begun.
   *
   * @param connection the thread of its connection
   */
  ReplySender(ServerCall<ProcessingRequest, ProcessingResponse> call, Executor connection) {
    this.call = call;
    this.connection = connection;
    call.sendHeaders(new Metadata());
  }

  /**
   * Sends a message, whether the proxy keeps up or not.
   *
   * @throws IOException when the stream has ended
   */
  void send(ProcessingResponse reply) throws IOException {
    lock.lock();
    try {
      if (closed) {
        throw new IOException("the proxy's stream has ended");
      }
      call.sendMessage(reply);
    } finally {
      lock.unlock();
    }
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
        changed.await();
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
        call.sendMessage(last);
        end();
      }
    } finally {
      lock.unlock();
    }
  }

  /** Sends a last message and ends the stream, so that the proxy sees both at once. Does not wait. */
  void endAtOnce(ProcessingResponse last) {
    lock.lock();
    try {
      ending = true;
    } finally {
      lock.unlock();
    }
    connection.execute(() -> {
      lock.lock();
      try {
        ending = false;
        end(last);
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
