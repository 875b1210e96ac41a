package io.kvasir.http.client;

import java.io.EOFException;
import java.io.IOException;

/** Where an answer's body ends on its connection (RFC 9112 §6). Keeps the state of one body. */
sealed interface BodyFraming {
  /**
   * Reads what has arrived of the body, waiting only when nothing has.
   *
   * @return how many bytes; 0 when the body has ended, or nothing but framing came, or nothing had come and the
   *     connection does not wait
   * @throws EOFException when the connection ended before the body
   * @throws MalformedResponseException when the framing is wrong
   */
  int read(PodConnection connection, byte[] bytes, int offset, int length) throws IOException;

  /** Whether the whole body has been read. */
  boolean hasEnded();

  /** Length of the whole body in bytes, -1 when it is not known beforehand. */
  default long length() {
    return -1;
  }

  /** Whether the connection can serve another request after this body. */
  default boolean leavesConnectionOpen() {
    return true;
  }

  /** A body of known length. */
  final class FixedLength implements BodyFraming {
    private final long length;
    private long remaining;

    FixedLength(long length) {
      this.length = length;
      this.remaining = length;
    }

    @Override
    public int read(PodConnection connection, byte[] bytes, int offset, int length) throws IOException {
      int read = readUpTo(connection, bytes, offset, (int) Math.min(length, remaining));
      remaining -= read;
      return read;
    }

    @Override
    public boolean hasEnded() {
      return remaining == 0;
    }

    @Override
    public long length() {
      return length;
    }
  }

  /** A body that ends with its connection. */
  final class UntilClose implements BodyFraming {
    private boolean ended;

    @Override
    public int read(PodConnection connection, byte[] bytes, int offset, int length) throws IOException {
      if (connection.buffered() > 0) {
        return connection.take(bytes, offset, length);
      }
      int read = connection.readDirectly(bytes, offset, length);
      ended = read < 0;
      return Math.max(0, read);
    }

    @Override
    public boolean hasEnded() {
      return ended;
    }

    @Override
    public boolean leavesConnectionOpen() {
      return false;
    }
  }

  /** A body in chunks. Extensions and trailers are read over. */
  final class Chunked implements BodyFraming {
    /** Longest chunk size in hexadecimal digits: below 2^60. */
    private static final int MAX_DIGITS = 15;

    /** Bytes of extensions or trailers between two chunks; engines send none. */
    private static final int MAX_EXTRA = 16 << 10;

    private enum ChunkState {
      SIZE,
      EXTENSION,
      DATA,
      DATA_END,
      TRAILER,
      END
    }

    private ChunkState at = ChunkState.SIZE;
    private long remaining;
    private int digits;
    private int extra;
    private int line;

    @Override
    public int read(PodConnection connection, byte[] bytes, int offset, int length) throws IOException {
      int count = 0;
      while (true) {
        if (at == ChunkState.DATA) {
          int read = readUpTo(connection, bytes, offset + count, (int) Math.min(length - count, remaining));
          count += read;
          remaining -= read;
          if (remaining == 0) {
            at = ChunkState.DATA_END;
          }
          if (count == length || (read == 0 && remaining > 0)) {
            return count;
          }
        }
        if (at == ChunkState.END) {
          return count;
        }
        if (connection.buffered() == 0) {
          if (count > 0) {
            return count;
          }
          int filled = connection.fill();
          if (filled < 0) {
            throw new EOFException();
          }
          if (filled == 0) {
            return 0;
          }
        }
        if (at != ChunkState.DATA) {
          step(connection.nextByte());
        }
      }
    }

    private void step(int c) throws MalformedResponseException {
      switch (at) {
        case SIZE -> size(c);
        case EXTENSION -> {
          if (c == '\n') {
            sized();
          } else {
            count();
          }
        }
        case DATA_END -> {
          if (c == '\n') {
            at = ChunkState.SIZE;
            digits = 0;
            extra = 0;
          } else if (c != '\r') {
            throw new MalformedResponseException("a chunk longer than its size");
          }
        }
        case TRAILER -> {
          if (c == '\n') {
            if (line == 0) {
              at = ChunkState.END;
            }
            line = 0;
          } else if (c != '\r') {
            line++;
            count();
          }
        }
        case DATA, END -> throw new IllegalStateException(at.toString());
      }
    }

    private void size(int c) throws MalformedResponseException {
      int digit = Character.digit(c, 16);
      if (digit >= 0 && digits < MAX_DIGITS) {
        remaining = remaining << 4 | digit;
        digits++;
      } else if (digits == 0 || digit >= 0) {
        throw new MalformedResponseException("no chunk size");
      } else if (c == '\n') {
        sized();
      } else if (c == '\r' || c == ';' || c == ' ' || c == '\t') {
        at = ChunkState.EXTENSION;
      } else {
        throw new MalformedResponseException("no chunk size");
      }
    }

    private void sized() {
      at = remaining == 0 ? ChunkState.TRAILER : ChunkState.DATA;
      line = 0;
    }

    private void count() throws MalformedResponseException {
      if (++extra > MAX_EXTRA) {
        throw new MalformedResponseException("endless chunk extensions or trailers");
      }
    }

    @Override
    public boolean hasEnded() {
      return at == ChunkState.END;
    }
  }

  private static int readUpTo(PodConnection connection, byte[] bytes, int offset, int length) throws IOException {
    if (length == 0) {
      return 0;
    }
    if (connection.buffered() > 0) {
      return connection.take(bytes, offset, length);
    }
    int read = connection.readDirectly(bytes, offset, length);
    if (read < 0) {
      throw new EOFException();
    }
    return read;
  }
}
