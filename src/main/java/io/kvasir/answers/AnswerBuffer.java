package io.kvasir.answers;

import java.util.ArrayList;
import java.util.List;

/**
 * The bytes of an answer on its way, in pieces that are only appended to: what lies before {@link #end} does not change
 * any more, so readers may look at it without a lock once they have learnt of it under one. Not thread-safe otherwise.
 */
final class AnswerBuffer {
  /** A part of what is there. */
  record Slice(byte[] bytes, int from, int to) {
    int length() {
      return to - from;
    }
  }

  private static final int CHUNK = 16 << 10;

  private final List<byte[]> pieces = new ArrayList<>();
  /** Offset of the first piece, a multiple of its size. */
  private long start;
  private long end;

  /** How many bytes have been appended. */
  long end() {
    return end;
  }

  void append(byte[] bytes, int offset, int length) {
    int done = 0;
    while (done < length) {
      int at = (int) ((end - start) % CHUNK);
      if (at == 0 && end - start == (long) pieces.size() * CHUNK) {
        pieces.add(new byte[CHUNK]);
      }
      int some = Math.min(CHUNK - at, length - done);
      System.arraycopy(bytes, offset + done, pieces.getLast(), at, some);
      done += some;
      end += some;
    }
  }

  /** What is there from an offset on, as far as it lies together; the offset has to be below the end. */
  Slice from(long offset) {
    int index = (int) ((offset - start) / CHUNK);
    int at = (int) ((offset - start) % CHUNK);
    long there = end - offset;
    return new Slice(pieces.get(index), at, (int) Math.min(CHUNK, at + there));
  }

  /** Lets go of whole pieces before an offset. */
  void discardBefore(long before) {
    int whole = (int) Math.min((before - start) / CHUNK, pieces.size());
    if (whole > 0) {
      pieces.subList(0, whole).clear();
      start += (long) whole * CHUNK;
    }
  }

  /** All of it. Nothing may have been forgotten. */
  byte[] whole() {
    return last((int) end);
  }

  /** Its last bytes, at most {@code most}. */
  byte[] last(int most) {
    byte[] last = new byte[(int) Math.min(most, end - start)];
    int done = 0;
    while (done < last.length) {
      Slice next = from(end - last.length + done);
      System.arraycopy(next.bytes(), next.from(), last, done, next.length());
      done += next.length();
    }
    return last;
  }
}
