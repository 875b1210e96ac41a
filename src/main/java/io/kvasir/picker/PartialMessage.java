package io.kvasir.picker;

import io.grpc.Context;
import io.grpc.Metadata;
import io.grpc.ServerStreamTracer;
import io.grpc.Status;
import io.kvasir.http.MemoryBudget;
import io.kvasir.http.RequestMemory;
import org.jspecify.annotations.Nullable;

/**
 * The message of a stream that has come in part. gRPC reads it on as fast as it comes, holds it in Netty's memory until
 * it is whole, and knows but one bound, a length, beyond which it ends the stream by an error that the proxy's client
 * would see as a 500. So gRPC is given no bound, and what it holds is counted here: a message's bytes are booked while
 * they come, and kept booked until whoever gets the message has booked them, or done with it.
 *
 * <p>Thread-safe. Bytes come on the connection's thread.
 */
final class PartialMessage extends ServerStreamTracer {
  /** Whose message it is. */
  interface Recipient {
    /** The message is longer than any may be: it has so many bytes, or more. On the connection's thread. */
    void messageTooLong(long bytes);

    /** There is no memory for the message. On a thread of its own. */
    void noMemoryForMessage(RequestMemory.Shortage shortage);
  }

  /** Makes those of a server's streams. */
  static final class Factory extends ServerStreamTracer.Factory {
    private final MemoryBudget memory;
    private final long most;

    /**
     * For the streams of a server.
     *
     * @param memory of all messages that have come in part
     * @param most the longest message, in bytes
     */
    Factory(MemoryBudget memory, long most) {
      this.memory = memory;
      this.most = most;
    }

    @Override
    public ServerStreamTracer newServerStreamTracer(String fullMethodName, Metadata headers) {
      return new PartialMessage(memory, most);
    }
  }

  /** That of the stream whose call begins, in its context. */
  static final Context.Key<PartialMessage> CURRENT = Context.key("partial-message");

  /** So many bytes are not worth a booking: the pieces of bodies that gateways stream are shorter. */
  private static final int UNBOOKED = 64 << 10;

  /** How many may be there unbooked while a booking waits: what has been sent meanwhile cannot be held up. */
  private static final int UNBOOKED_WAITING = 256 << 10;

  /** What a part takes beside its bytes: a message may come byte by byte. */
  private static final int PART_OVERHEAD = 512;

  private final MemoryBudget memory;
  private final long most;

  // Guarded by this.
  private @Nullable Recipient recipient;
  private MemoryBudget.@Nullable Account account;
  private long size;
  private long unbooked;
  private boolean waits;
  private boolean ended;

  PartialMessage(MemoryBudget memory, long most) {
    this.memory = memory;
    this.most = most;
  }

  @Override
  public Context filterContext(Context context) {
    return context.withValue(CURRENT, this);
  }

  /** Before the first message comes. */
  synchronized void begin(Recipient of) {
    recipient = of;
  }

  @Override
  public void inboundWireSize(long bytes) {
    Recipient tooLongFor = null;
    long come;
    synchronized (this) {
      if (ended) {
        return;
      }
      size += bytes;
      come = size;
      unbooked += bytes + PART_OVERHEAD;
      if (recipient == null) {
        requireShort();
      } else if (size > most) {
        ended = true;
        free();
        tooLongFor = recipient;
      } else if (unbooked > UNBOOKED) {
        book(recipient);
      }
    }
    if (tooLongFor != null) {
      tooLongFor.messageTooLong(come);
    }
  }

  /** Of other methods, whose messages have a few bytes, nobody could be answered: gRPC ends the stream. */
  private void requireShort() {
    if (unbooked > UNBOOKED) {
      throw Status.RESOURCE_EXHAUSTED.withDescription("the message is too long").asRuntimeException();
    }
  }

  private void book(Recipient of) {
    if (account == null) {
      account = memory.open(of::noMemoryForMessage);
      account.incomplete();
    }
    MemoryBudget.Account booking = account;
    if (waits) {
      if (unbooked > UNBOOKED_WAITING) {
        booking.refuse(unbooked);
      }
      return;
    }
    long bytes = unbooked;
    if (booking.tryBook(bytes)) {
      unbooked = 0;
    } else {
      waits = true;
      booking.book(bytes, () -> booked(booking, bytes));
    }
  }

  private synchronized void booked(MemoryBudget.Account booking, long bytes) {
    if (booking == account) {
      waits = false;
      unbooked -= bytes;
    }
  }

  /** The message is there: whether it is to be handled. If not, its recipient has been told why, or will be. */
  synchronized boolean complete() {
    return !ended && (account == null || account.complete());
  }

  /** The message is done with, or booked elsewhere: its memory is given back, and the next one may come. Idempotent. */
  synchronized void taken() {
    free();
    size = 0;
    unbooked = 0;
    waits = false;
  }

  private void free() {
    if (account != null) {
      account.close();
      account = null;
    }
  }

  @Override
  public synchronized void streamClosed(Status status) {
    ended = true;
    free();
  }
}
