package io.kvasir.picker;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnsafeByteOperations;
import io.kvasir.http.MemoryBudget;
import io.kvasir.http.RequestMemory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;

/**
 * The body of a request while it comes. Pieces are added by one thread at a time, the next once the one before has
 * been; how far it is may be asked meanwhile.
 */
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

  /** Whether a piece has come that has not been added. Guarded by this. */
  private boolean pieceWaits;

  /** Whether no piece follows the one that came last. Guarded by this. */
  private boolean lastCame;

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

  /**
   * Adds a piece once there is memory for it, and for reading it.
   *
   * @param last whether no other follows
   * @param then runs when it has been added, on a thread of its own where it has waited: whether the body is whole
   */
  void add(ByteString piece, boolean last, Consumer<Boolean> then) {
    synchronized (this) {
      pieceWaits = true;
      lastCame = last;
    }
    long bytes = (1L + RequestMemory.READING_PER_BYTE) * piece.size();
    if (memory.tryBook(bytes)) {
      added(piece, then);
    } else {
      memory.book(bytes, () -> added(piece, then));
    }
  }

  /** Whether the last piece has come, added or not. */
  synchronized boolean lastHasCome() {
    return lastCame;
  }

  /**
   * Nothing follows what has come.
   *
   * @return whether that makes it whole; if not, it was, or will be when the piece that waits has been added
   */
  synchronized boolean end() {
    boolean wasOpen = !lastCame;
    lastCame = true;
    return wasOpen && !pieceWaits;
  }

  private void added(ByteString piece, Consumer<Boolean> then) {
    size += piece.size();
    if (piece.size() >= SMALL || (pieces.isEmpty() && filled == 0)) {
      endBlock();
      pieces.add(piece);
    } else {
      gather(piece);
    }
    boolean whole;
    synchronized (this) {
      pieceWaits = false;
      whole = lastCame;
    }
    then.accept(whole);
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
