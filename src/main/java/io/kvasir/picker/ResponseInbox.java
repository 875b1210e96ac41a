package io.kvasir.picker;

import io.kvasir.http.ConnectionThread;
import com.google.protobuf.ByteString;
import io.kvasir.http.client.PodException;
import io.kvasir.http.client.PodResponse.PieceReceiver;
import io.kvasir.picker.extproc.ProcessingRequest;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * What a proxy shows of a response: its head, then its body, of which it may show one message beyond what has been
 * read, or all of it where it is short. Filled by the stream's thread, read by one other, or, while that waits in
 * {@link #stream}, on the stream's own.
 */
final class ResponseInbox {
  /** How a body's end has come about. */
  enum End {
    /** It has not come. */
    OPEN,
    /** With its last bytes. */
    BODY,
    /** With trailers, which are to be answered. */
    TRAILERS,
    /** The proxy shows nothing more. */
    UNSEEN,
    /** The stream was cancelled, or its call aborted. */
    ABORTED
  }

  /** A body that is gathered has so many bytes at most. */
  static final int SHORT = 64 << 10;

  private static final int PIECE_BYTES = 8 << 10;

  private final ReplySender proxy;
  private final ConnectionThread thread;

  /** No monitor: a virtual thread that waits for one is woken by way of a thread more. */
  private final ReentrantLock lock = new ReentrantLock();

  private final Condition changed = lock.newCondition();

  // Guarded by the lock.
  private final Deque<ByteString> pieces = new ArrayDeque<>();
  private @Nullable ProcessingRequest head;
  private End end = End.OPEN;
  private int offset;
  private int unanswered;

  /** Whether nobody is told of what comes before the end. */
  private boolean gathering;

  /** How many bytes of pieces have not been read. */
  private int waiting;

  /** How many have been. */
  private long read;

  /** For how many of the pieces that wait the next one has been asked for. */
  private int askedAhead;

  private byte @Nullable [] buffer;
  private @Nullable PieceReceiver receiver;
  private @Nullable Throwable failure;

  /**
   * The inbox of a stream.
   *
   * @param thread the one that waits for what comes
   */
  ResponseInbox(ReplySender proxy, ConnectionThread thread) {
    this.proxy = proxy;
    this.thread = thread;
  }

  /**
   * The response's head has come; another one is passed over.
   *
   * @param gathered whether its body is short, so that nobody needs to be told before all of it is there
   */
  void head(ProcessingRequest message, boolean gathered) {
    lock.lock();
    try {
      if (head != null) {
        proxy.request();
        return;
      }
      head = message;
      if (message.getResponseHeaders().getEndOfStream()) {
        end = End.BODY;
      } else {
        gathering = gathered;
        proxy.request();
      }
      progress();
    } finally {
      lock.unlock();
    }
  }

  /** A part of its body has come; before the head, or after the end, it is passed over. */
  void body(ByteString piece, boolean last) {
    lock.lock();
    try {
      if (head == null || end != End.OPEN) {
        proxy.request();
        return;
      }
      if (last) {
        end = End.BODY;
      }
      unanswered++;
      if (!piece.isEmpty()) {
        pieces.add(piece);
        waiting += piece.size();
        gathering &= waiting <= SHORT;
      }
      if (last) {
        // So that the end of the stream is seen whatever comes before it.
        proxy.request();
      } else if (piece.isEmpty() || gathering) {
        askedAhead += piece.isEmpty() ? 0 : 1;
        proxy.request();
      }
      progress();
    } finally {
      lock.unlock();
    }
  }

  /** The body has ended so; the first end counts. */
  void end(End how) {
    lock.lock();
    try {
      if (end == End.OPEN) {
        end = how;
        progress();
      }
    } finally {
      lock.unlock();
    }
  }

  End end() {
    lock.lock();
    try {
      return end;
    } finally {
      lock.unlock();
    }
  }

  /** How many chunks have been read whole and not been answered, but for the last of the body. */
  int owedChunks() {
    lock.lock();
    try {
      return unanswered - pieces.size() - (end != End.OPEN && pieces.isEmpty() ? 1 : 0);
    } finally {
      lock.unlock();
    }
  }

  /** Whether a chunk has come that has not been answered. */
  boolean hasUnanswered() {
    lock.lock();
    try {
      return unanswered > 0;
    } finally {
      lock.unlock();
    }
  }

  /** A chunk has been answered. */
  void chunkAnswered() {
    lock.lock();
    try {
      unanswered--;
    } finally {
      lock.unlock();
    }
  }

  private void progress() {
    gathering &= end == End.OPEN;
    if (!gathering) {
      push();
      changed.signalAll();
    }
  }

  /**
   * Waits for the response's head.
   *
   * @return null when the proxy does not show it
   */
  @Nullable ProcessingRequest awaitHead() throws PodException {
    lock.lock();
    try {
      while (head == null || gathering) {
        switch (end) {
          case OPEN -> await();
          case ABORTED -> throw aborted();
          case BODY, TRAILERS, UNSEEN -> {
            return null;
          }
        }
      }
      return head;
    } finally {
      lock.unlock();
    }
  }

  /** Waits for a part of the body and copies it; -1 at its end. */
  int read(byte[] bytes, int from, int length) throws PodException {
    lock.lock();
    try {
      while (pieces.isEmpty()) {
        switch (end) {
          case OPEN -> await();
          case ABORTED -> throw aborted();
          case BODY, TRAILERS, UNSEEN -> {
            return -1;
          }
        }
      }
      return take(bytes, from, length);
    } finally {
      lock.unlock();
    }
  }

  private int take(byte[] bytes, int from, int length) {
    ByteString first = pieces.element();
    int count = Math.min(length, first.size() - offset);
    first.substring(offset, offset + count).copyTo(bytes, from);
    offset += count;
    waiting -= count;
    read += count;
    if (offset == first.size()) {
      pieces.remove();
      offset = 0;
      if (askedAhead > 0) {
        askedAhead--;
      } else if (end == End.OPEN) {
        proxy.request();
      }
    }
    return count;
  }

  /** Whether nothing is left to read. */
  boolean hasEnded() {
    lock.lock();
    try {
      return pieces.isEmpty() && (end == End.BODY || end == End.TRAILERS || end == End.UNSEEN);
    } finally {
      lock.unlock();
    }
  }

  /**
   * Hands the rest of the body over as it comes, on the stream's thread.
   *
   * @return whether all of it has been read; false when the receiver wanted no more
   */
  boolean stream(PieceReceiver to) throws IOException {
    lock.lock();
    try {
      buffer = new byte[PIECE_BYTES];
      receiver = to;
      failure = null;
      push();
      while (receiver != null) {
        await();
      }
      switch (failure) {
        case null -> {}
        case IOException e -> throw e;
        case RuntimeException e -> throw e;
        case Error e -> throw e;
        default -> throw new IllegalStateException(failure);
      }
      return hasEnded();
    } finally {
      lock.unlock();
    }
  }

  /** Gives the receiver what is there. */
  private void push() {
    PieceReceiver to = receiver;
    byte[] into = buffer;
    if (to == null || into == null) {
      return;
    }
    boolean more = true;
    try {
      while (more && !pieces.isEmpty()) {
        more = to.accept(into, take(into, 0, into.length));
      }
      if (more && end == End.ABORTED) {
        throw aborted();
      }
    } catch (IOException | RuntimeException | Error e) {
      failure = e;
      more = false;
    }
    if (!more || end != End.OPEN) {
      receiver = null;
    }
  }

  private void await() throws PodException {
    try {
      // A body that is long, and not streamed, may be much work once it is there.
      thread.await(changed, receiver != null || read <= SHORT);
    } catch (InterruptedException stopping) {
      Thread.currentThread().interrupt();
      throw new PodException(PodException.Kind.ABORTED, "interrupted while waiting for the proxy", stopping);
    }
  }

  private static PodException aborted() {
    return new PodException(PodException.Kind.ABORTED, "the proxy's stream was cancelled", null);
  }
}
