package io.kvasir.picker;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnsafeByteOperations;
import io.kvasir.http.MemoryBudget;
import io.kvasir.http.RequestMemory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** The body of a request while it comes. One thread at a time. */
final class IncomingBody {
  /** Pieces that are shorter, in bytes, are gathered. */
  private static final int SMALL = 4 << 10;

  private static final int BLOCK = 16 << 10;
  private static final byte[] NO_BLOCK = new byte[0];

  private final MemoryBudget.Account memory;
  private final int most;
  private final List<ByteString> pieces = new ArrayList<>();
  private byte[] block = NO_BLOCK;
  private int filled;
  private int size;

  IncomingBody(MemoryBudget.Account memory, int most) {
    this.memory = memory;
    this.most = most;
    memory.incomplete();
  }

  /** Whether a piece of so many bytes would make it too long. */
  boolean isTooLongWith(long bytes) {
    return size + bytes > most;
  }

  /** How many bytes have been added. */
  int size() {
    return size;
  }

  /** Adds a piece once there is memory for it, and for reading it; {@code then} runs when it has been added. */
  void add(ByteString piece, Runnable then) {
    long bytes = (1L + RequestMemory.READING_PER_BYTE) * piece.size();
    if (memory.tryBook(bytes)) {
      added(piece, then);
    } else {
      memory.book(bytes, () -> added(piece, then));
    }
  }

  private void added(ByteString piece, Runnable then) {
    size += piece.size();
    if (piece.size() >= SMALL || (pieces.isEmpty() && filled == 0)) {
      endBlock();
      pieces.add(piece);
    } else {
      gather(piece);
    }
    then.run();
  }

  /** Copies a small piece to others: by itself it would take many times the memory that is booked for it. */
  private void gather(ByteString piece) {
    if (block.length - filled < piece.size()) {
      endBlock();
      block = new byte[BLOCK];
    }
    piece.copyTo(block, filled);
    filled += piece.size();
  }

  private void endBlock() {
    if (filled > 0) {
      pieces.add(UnsafeByteOperations.unsafeWrap(filled > BLOCK / 2 ? block : Arrays.copyOf(block, filled), 0, filled));
      block = NO_BLOCK;
      filled = 0;
    }
  }

  /** The body in one piece. */
  byte[] bytes() {
    endBlock();
    byte[] bytes = new byte[size];
    int at = 0;
    for (ByteString piece : pieces) {
      piece.copyTo(bytes, at);
      at += piece.size();
    }
    pieces.clear();
    return bytes;
  }
}
