package io.kvasir.http.server;

import io.kvasir.http.MemoryBudget;
import java.util.Arrays;

/**
 * The head of a request, collected until it is complete and checked line by line. Each byte is looked at a fixed number
 * of times, however the head is cut into pieces. What is kept of a long one is booked. One thread at a time.
 */
final class RequestHead {
  /** The longest head. */
  static final int MAX_BYTES = 64 << 10;

  private static final int FIRST_BYTES = 512;

  /** So much is kept without being booked. */
  private static final int FREE_BYTES = 4 << 10;

  private static final byte[] NONE = new byte[0];

  private final MemoryBudget memory;

  private byte[] kept = NONE;
  private int size;
  private int booked;

  // Positions from the head's first byte.
  private int scanned;
  private int lineStart;

  // Where the complete head stands.
  private byte[] bytes = NONE;
  private int start;
  private int end;

  private HeadLines lines = new HeadLines();

  RequestHead(MemoryBudget memory) {
    this.memory = memory;
  }

  /** Begins the next head. */
  void reset() {
    release();
    scanned = 0;
    lineStart = 0;
    start = 0;
    end = 0;
    lines = new HeadLines();
  }

  /**
   * Reads on.
   *
   * @return where the head ends in {@code input}, or -1 when it is not complete: then all of the input was taken
   * @throws RefusedRequestException when it cannot be accepted, however it goes on
   */
  int read(byte[] input, int from, int to) throws RefusedRequestException {
    if (size == 0) {
      // Most heads come in one piece, and are not copied.
      if (scan(input, from, to)) {
        return end;
      }
      keep(input, from, to - from);
      return -1;
    }
    int before = size;
    keep(input, from, Math.min(to - from, MAX_BYTES + 1 - size));
    return scan(kept, 0, size) ? from + end - before : -1;
  }

  /** Whether a head has begun. */
  boolean isBegun() {
    return size > 0;
  }

  /** The array in which the complete head stands, perhaps with other bytes around it. */
  byte[] bytes() {
    return bytes;
  }

  /** Where the complete head begins in {@link #bytes}. */
  int start() {
    return start;
  }

  /** Where the complete head ends in {@link #bytes}. */
  int end() {
    return end;
  }

  /** Forgets the bytes, not what they said. */
  void release() {
    kept = NONE;
    bytes = NONE;
    size = 0;
    if (booked > 0) {
      memory.freeReading(booked);
      booked = 0;
    }
  }

  /** Whether the complete head stands in the input that was read last. */
  boolean isInPlace() {
    return size == 0;
  }

  /** What its lines say, those that have ended. */
  HeadLines lines() {
    return lines;
  }

  private void keep(byte[] input, int from, int count) throws RefusedRequestException {
    if (size + count > kept.length) {
      int capacity = Math.max(FIRST_BYTES, Math.max(size + count, 2 * size));
      book(capacity);
      kept = Arrays.copyOf(kept, capacity);
    }
    System.arraycopy(input, from, kept, size, count);
    size += count;
  }

  private void book(int capacity) throws RefusedRequestException {
    if (capacity > FREE_BYTES) {
      int more = capacity - booked;
      if (!memory.tryBookReading(more)) {
        throw new RefusedRequestException(
            new RequestFailure(
                503,
                "this router has no memory left for the request's long head now; send it again in a moment",
                ReachedLimit.of(memory.shortageOfReading(more))));
      }
      booked = capacity;
    }
  }

  /** Checks the lines that have ended since; whether the head has. */
  private boolean scan(byte[] in, int base, int to) throws RefusedRequestException {
    for (int at = base + scanned; at < to; at++) {
      if (in[at] != '\n') {
        continue;
      }
      int line = base + lineStart;
      if (at == line || in[at - 1] != '\r') {
        throw HeadLines.malformed("a line of its head ends in LF without CR");
      }
      if (at - 1 == line) {
        lines.checkWhole();
        bytes = in;
        start = base;
        end = at + 1;
        checkSize(end - base);
        return true;
      }
      if (lineStart == 0) {
        lines.requestLine(in, line, at - 1);
      } else {
        lines.field(in, line, at - 1);
      }
      lineStart = at + 1 - base;
    }
    scanned = to - base;
    lines.checkUnfinished(scanned - lineStart);
    checkSize(scanned);
    return false;
  }

  private static void checkSize(int count) throws RefusedRequestException {
    if (count > MAX_BYTES) {
      throw new RefusedRequestException(
          431, "the request's head is longer than the limit of " + MAX_BYTES + " bytes; send fewer or shorter headers");
    }
  }
}
