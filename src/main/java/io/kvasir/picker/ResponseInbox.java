package io.kvasir.picker;

import com.google.protobuf.ByteString;
import io.kvasir.http.client.PodException;
import io.kvasir.http.client.PodResponse.PieceReceiver;
import io.kvasir.picker.extproc.ProcessingRequest;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/**
 * What a proxy shows of a response: its head, then its body, of which it may show one message beyond what has been
 * read. Filled by the stream's thread, read by one other, or, while that waits in {@link #stream}, on the stream's own.
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

  private final ReplySender proxy;

  // Guarded by this.
  private final Deque<ByteString> pieces = new ArrayDeque<>();
  private @Nullable ProcessingRequest head;
  private End end = End.OPEN;
  private int offset;
  private int unanswered;
  private byte @Nullable [] buffer;
  private @Nullable PieceReceiver receiver;
  private @Nullable Throwable failure;

  ResponseInbox(ReplySender proxy) {
    this.proxy = proxy;
  }

  /** The response's head has come. */
  synchronized void head(ProcessingRequest message) {
    head = message;
    if (message.getResponseHeaders().getEndOfStream()) {
      end = End.BODY;
    } else {
      proxy.request();
    }
    notifyAll();
  }

  /** A part of its body has come. */
  synchronized void body(ByteString piece, boolean last) {
    if (end != End.OPEN) {
      return;
    }
    if (last) {
      end = End.BODY;
    }
    unanswered++;
    if (!piece.isEmpty()) {
      pieces.add(piece);
    } else if (!last) {
      proxy.request();
    }
    progress();
  }

  /** The body has ended so; the first end counts. */
  synchronized void end(End how) {
    if (end == End.OPEN) {
      end = how;
      progress();
    }
  }

  synchronized End end() {
    return end;
  }

  /** How many chunks have been read whole and not been answered, but for the last of the body. */
  synchronized int owedChunks() {
    return unanswered - pieces.size() - (end != End.OPEN && pieces.isEmpty() ? 1 : 0);
  }

  /** Whether a chunk has come that has not been answered. */
  synchronized boolean hasUnanswered() {
    return unanswered > 0;
  }

  /** A chunk has been answered. */
  synchronized void chunkAnswered() {
    unanswered--;
  }

  private void progress() {
    push();
    notifyAll();
  }

  /**
   * Waits for the response's head.
   *
   * @return null when the proxy does not show it
   */
  synchronized @Nullable ProcessingRequest awaitHead() throws PodException {
    while (head == null) {
      switch (end) {
        case OPEN -> await();
        case ABORTED -> throw aborted();
        case BODY, TRAILERS, UNSEEN -> {
          return null;
        }
      }
    }
    return head;
  }

  /** Waits for a part of the body and copies it; -1 at its end. */
  synchronized int read(byte[] bytes, int from, int length) throws PodException {
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
  }

  private int take(byte[] bytes, int from, int length) {
    ByteString first = pieces.element();
    int count = Math.min(length, first.size() - offset);
    first.substring(offset, offset + count).copyTo(bytes, from);
    offset += count;
    if (offset == first.size()) {
      pieces.remove();
      offset = 0;
      if (end == End.OPEN) {
        proxy.request();
      }
    }
    return count;
  }

  /** Whether nothing is left to read. */
  synchronized boolean hasEnded() {
    return pieces.isEmpty() && (end == End.BODY || end == End.TRAILERS || end == End.UNSEEN);
  }

  /**
   * Hands the rest of the body over as it comes, on the stream's thread.
   *
   * @return whether all of it has been read; false when the receiver wanted no more
   */
  synchronized boolean stream(byte[] into, PieceReceiver to) throws IOException {
    buffer = into;
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
        more = to.accept(take(into, 0, into.length));
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

  @SuppressWarnings("WaitNotInLoop") // Every caller waits in a loop, each for something else.
  private void await() throws PodException {
    try {
      wait();
    } catch (InterruptedException stopping) {
      Thread.currentThread().interrupt();
      throw new PodException(PodException.Kind.ABORTED, "interrupted while waiting for the proxy", stopping);
    }
  }

  private static PodException aborted() {
    return new PodException(PodException.Kind.ABORTED, "the proxy's stream was cancelled", null);
  }
}
