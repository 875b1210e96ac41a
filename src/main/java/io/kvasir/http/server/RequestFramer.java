package io.kvasir.http.server;

import io.kvasir.http.MemoryBudget;
import java.util.Arrays;
import org.apache.pekko.util.ByteString;
import org.jspecify.annotations.Nullable;

/**
 * Where the requests on a connection begin and end. What a client sends goes in as it comes; out come pieces for the
 * parser that leave it nothing to interpret: a head, whole; a body's bytes; a chunked body as few plain chunks. So its
 * work is in proportion to the bytes, however small the segments in which they came. Of a plain body that did not come
 * whole with its head nothing comes out: it is a {@link PartialBody}.
 *
 * <p>Nothing of the next request comes out before {@link #startNextRequest}. One thread at a time.
 */
final class RequestFramer {
  /** A chunk's length in eight digits, CR and LF. */
  private static final int CHUNK_PREFIX = 10;

  private static final byte[] LAST_CHUNK = {'0', '\r', '\n', '\r', '\n'};
  private static final byte[] HEX = {
    '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'
  };
  private static final byte[] NONE = new byte[0];

  private enum Part {
    HEAD,
    /** A body of known length. */
    BODY,
    /** The rest of a body that is received by somebody else. */
    PARTIAL_BODY,
    CHUNKS,
    /** Nothing, until the request has been answered. */
    COMPLETE,
    /** Nothing any more. */
    ENDED
  }

  private final RequestHead head;
  private ChunkedBody chunks = new ChunkedBody();
  private Part part = Part.HEAD;
  private byte[] input = NONE;
  private int at;
  private long remaining;
  private @Nullable PartialBody partial;

  /** A connection's requests, whose long heads are booked. */
  RequestFramer(MemoryBudget memory) {
    this.head = new RequestHead(memory);
  }

  /** Whether input may be added: the request in progress takes more than there is. */
  boolean takesInput() {
    return at == input.length && switch (part) {
      case HEAD, BODY, CHUNKS -> true;
      case PARTIAL_BODY, COMPLETE, ENDED -> false;
    };
  }

  /** Adds what came next, once it {@link #takesInput}. The bytes are not copied: not to be changed any more. */
  void add(byte[] bytes) {
    input = bytes;
    at = 0;
  }

  /** Whether a part of a head has come, and not all of it. */
  boolean isWithinHead() {
    return part == Part.HEAD && head.isBegun();
  }

  /** Whether the request in progress has been handed out from its head to its end. */
  boolean isComplete() {
    return part == Part.COMPLETE;
  }

  /** Whether the connection is to be closed when the request in progress has been answered. */
  boolean isLast() {
    return head.lines().isLast();
  }

  /** The target of the request in progress, empty as long as that is unknown. */
  String target() {
    return head.lines().target();
  }

  /** Lets the next request begin: the one before has been answered. */
  void startNextRequest() {
    if (part == Part.COMPLETE) {
      head.reset();
      part = Part.HEAD;
    }
  }

  /** The body of the request whose head came out last, once, if it is to be received without the parser; else null. */
  @Nullable PartialBody takePartialBody() {
    PartialBody taken = partial;
    partial = null;
    return taken;
  }

  private void partialBodyCompleted() {
    if (part == Part.PARTIAL_BODY) {
      part = Part.COMPLETE;
    }
  }

  /** What came behind the request in progress. */
  byte[] rest() {
    return Arrays.copyOfRange(input, at, input.length);
  }

  /** Forgets what came: nothing comes out any more. */
  void end() {
    part = Part.ENDED;
    head.release();
    partial = null;
    input = NONE;
    at = 0;
  }

  /**
   * The next piece for the parser; null when it takes more input, or the next request, to have one.
   *
   * @throws RefusedRequestException when the request is refused; nothing comes out any more
   */
  @Nullable ByteString next() throws RefusedRequestException {
    if (at == input.length) {
      return null;
    }
    try {
      ByteString piece =
          switch (part) {
            case HEAD -> head();
            case BODY -> body(at);
            case CHUNKS -> chunks();
            case PARTIAL_BODY, COMPLETE, ENDED -> null;
          };
      if (at == input.length) {
        input = NONE;
        at = 0;
      }
      return piece;
    } catch (RefusedRequestException e) {
      end();
      throw e;
    }
  }

  private @Nullable ByteString head() throws RefusedRequestException {
    int end = head.read(input, at, input.length);
    if (end < 0) {
      at = input.length;
      return null;
    }
    at = end;
    remaining = head.lines().length();
    if (head.lines().isChunked()) {
      chunks = new ChunkedBody();
      part = Part.CHUNKS;
    } else if (remaining == 0) {
      part = Part.COMPLETE;
    } else {
      part = Part.BODY;
      if (head.isInPlace() && head.lines().isPlainBody() && remaining > input.length - at) {
        part = Part.PARTIAL_BODY;
        partial = new PartialBody(
            remaining, ByteString.fromArrayUnsafe(input, at, input.length - at), this::partialBodyCompleted);
        at = input.length;
        head.lines().announceNoBody(input);
      } else if (head.isInPlace()) {
        // In one piece with its body, if that came too: the parser then need not make a stream of it.
        int start = head.start();
        head.release();
        return body(start);
      }
    }
    ByteString piece = ByteString.fromArrayUnsafe(head.bytes(), head.start(), head.end() - head.start());
    head.release();
    return piece;
  }

  /** The body's bytes at hand, and those before them from {@code start} on. */
  private ByteString body(int start) {
    int count = (int) Math.min(remaining, input.length - at);
    at += count;
    remaining -= count;
    if (remaining == 0) {
      part = Part.COMPLETE;
    }
    return ByteString.fromArrayUnsafe(input, start, at - start);
  }

  private @Nullable ByteString chunks() throws RefusedRequestException {
    byte[] piece = new byte[CHUNK_PREFIX + input.length - at + 2 + LAST_CHUNK.length];
    at = chunks.read(input, at, input.length, piece, CHUNK_PREFIX);
    int end = chunks.end();
    int length = end - CHUNK_PREFIX;
    if (length > 0) {
      for (int i = 0; i < 8; i++) {
        piece[i] = HEX[(length >>> (4 * (7 - i))) & 15];
      }
      piece[8] = '\r';
      piece[9] = '\n';
      piece[end++] = '\r';
      piece[end++] = '\n';
    }
    if (chunks.isEnded()) {
      part = Part.COMPLETE;
      System.arraycopy(LAST_CHUNK, 0, piece, end, LAST_CHUNK.length);
      end += LAST_CHUNK.length;
    }
    int start = length > 0 ? 0 : CHUNK_PREFIX;
    return end == start ? null : ByteString.fromArrayUnsafe(piece, start, end - start);
  }
}
