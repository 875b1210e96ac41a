package io.kvasir.picker;

import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.Status;
import io.kvasir.picker.extproc.ProcessingRequest;
import io.kvasir.picker.extproc.ProcessingResponse;
import java.io.IOException;
import java.util.concurrent.Executor;

/** The picker's side of a stream. Thread-safe; what is sent by one thread keeps its order. */
final class ReplySender {
  private final ServerCall<ProcessingRequest, ProcessingResponse> call;
  private final Executor connection;

  // Guarded by this.
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
  synchronized void send(ProcessingResponse reply) throws IOException {
    if (closed) {
      throw new IOException("the proxy's stream has ended");
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
  synchronized void awaitReady() throws IOException {
    while (!closed && !call.isReady()) {
      try {
        wait();
      } catch (InterruptedException stopping) {
        Thread.currentThread().interrupt();
        throw new IOException("interrupted while the proxy is slow", stopping);
      }
    }
    if (closed) {
      throw new IOException("the proxy's stream has ended");
    }
  }

  /** Wakes who waits for the proxy. */
  synchronized void ready() {
    notifyAll();
  }

  /** Sends a last message; nothing when the stream has ended. */
  synchronized void end(ProcessingResponse last) {
    if (!closed) {
      call.sendMessage(last);
      end();
    }
  }

  /** Sends a last message and ends the stream, so that the proxy sees both at once. Does not wait. */
  synchronized void endAtOnce(ProcessingResponse last) {
    ending = true;
    connection.execute(() -> {
      synchronized (this) {
        ending = false;
        end(last);
      }
    });
  }

  /** Ends the stream in peace. Idempotent. */
  synchronized void end() {
    if (!closed && !ending) {
      closed = true;
      call.close(Status.OK, new Metadata());
      notifyAll();
    }
  }

  /** Cuts the stream, so that the proxy resets what it has begun to answer. Idempotent. */
  synchronized void cut() {
    if (!closed) {
      closed = true;
      call.close(Status.INTERNAL.withDescription("the response was cut"), new Metadata());
      notifyAll();
    }
  }

  /** The proxy has ended the stream. */
  synchronized void closedByProxy() {
    closed = true;
    notifyAll();
  }
}
