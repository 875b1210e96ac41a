package io.kvasir.http.client;

import io.kvasir.http.ChannelLoop;
import io.kvasir.http.ChannelReader;
import io.kvasir.http.WatchedChannel;
import java.io.IOException;
import java.io.Serial;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One connection to a pod: its socket and what has been read ahead from it. One thread at a time but for close. */
abstract sealed class PodConnection permits CallConnection, ExchangeConnection {
  private static final Logger LOG = LoggerFactory.getLogger(PodConnection.class);

  private static final int BUFFER = 8 << 10;
  private static final byte[] NONE = {};

  private final PodOrigin origin;
  private final SocketChannel channel;
  private final Socket tcp;

  /** None between the pieces of a body that a loop reads. */
  private byte[] buffer = NONE;

  /** Whether {@link #buffer} is the loop's. */
  private boolean borrowed;

  private int position;
  private int limit;
  private long idleSince;
  private boolean used;

  private volatile @Nullable WatchedChannel watch;

  PodConnection(PodOrigin origin) throws IOException {
    this.origin = origin;
    this.channel = SocketChannel.open();
    this.tcp = channel.socket();
  }

  PodOrigin origin() {
    return origin;
  }

  /** The TCP socket, also beneath TLS: closing it never waits. */
  Socket tcp() {
    return tcp;
  }

  /** The TCP connection; not blocking where a loop watches it. */
  SocketChannel channel() {
    return channel;
  }

  /** Has a loop watch it until it is closed, from the first {@link WatchedChannel#resume} on. */
  void watchBy(ChannelLoop loop, ChannelReader reader) throws IOException {
    channel.configureBlocking(false);
    watch = loop.watch(channel, reader);
  }

  /**
   * The watch of a loop.
   *
   * @throws IOException when there is none, for it is not connected
   */
  WatchedChannel watch() throws IOException {
    WatchedChannel begun = watch;
    if (begun == null) {
      throw new IOException("not connected");
    }
    return begun;
  }

  /** Has the loop that watches it, if one does, begin to read or go on after a pause. */
  void resume() {
    WatchedChannel begun = watch;
    if (begun != null) {
      begun.resume();
    }
  }

  /** Whether the loop's thread that watches it is the caller's. */
  boolean isWatchedByCaller() {
    WatchedChannel begun = watch;
    return begun != null && begun.isCurrent();
  }

  /**
   * Takes what has been connected.
   *
   * @param socket that of {@link #tcp}, or the encrypted one on top of it
   */
  abstract void open(Socket socket) throws IOException;

  long idleSince() {
    return idleSince;
  }

  void idleSince(long now) {
    idleSince = now;
    used = true;
  }

  /** Whether it has served a request before. */
  boolean isReused() {
    return used;
  }

  /** Whether nothing came beyond the answers that were read. */
  boolean isClean() {
    return position == limit;
  }

  // Reading: either past the buffer, when it is empty, or from it.

  /** Reads into a buffer that is lent, until it is given back. */
  void borrow(byte[] lent) {
    if (position == limit) {
      buffer = lent;
      borrowed = true;
      position = 0;
      limit = 0;
    }
  }

  /** Keeps what has not been read. */
  void giveBack() {
    if (borrowed) {
      int left = limit - position;
      buffer = left == 0 ? NONE : Arrays.copyOfRange(buffer, position, position + Math.max(BUFFER, left));
      borrowed = false;
      position = 0;
      limit = left;
    }
  }

  int buffered() {
    return limit - position;
  }

  /** Reads past the buffer, which is empty; -1 at the end of the stream. */
  abstract int readDirectly(byte[] bytes, int offset, int length) throws IOException;

  /** Reads what has come to a connection that is watched, without waiting. */
  int readNow(byte[] bytes, int offset, int length) throws IOException {
    return channel.read(ByteBuffer.wrap(bytes, offset, length));
  }

  int take(byte[] bytes, int offset, int length) {
    int taken = Math.min(length, limit - position);
    System.arraycopy(buffer, position, bytes, offset, taken);
    position += taken;
    return taken;
  }

  /** Next byte of the buffer, which has one. */
  int nextByte() {
    return buffer[position++] & 0xff;
  }

  /** Reads what has arrived into the buffer; -1 at the end of the stream. */
  int fill() throws IOException {
    if (position == limit) {
      position = 0;
      limit = 0;
    }
    if (buffer.length == 0) {
      buffer = new byte[BUFFER];
    }
    if (limit == buffer.length) {
      throw new IOException("nothing was taken from a full buffer");
    }
    int read = readDirectly(buffer, limit, buffer.length - limit);
    if (read > 0) {
      limit += read;
    }
    return read;
  }

  /**
   * Reads on until the buffer holds a whole head.
   *
   * @return where the head ends, counted from {@link #position}; -1 when the stream ended first; 0 when nothing more of
   *     it had come and the connection does not wait
   * @throws HeadTooLongException beyond {@code max} bytes
   */
  int readHead(int max) throws IOException {
    int scanned = 0;
    while (true) {
      int end = endOfHead(position + scanned);
      if (end >= 0) {
        return end - position;
      }
      scanned = Math.max(0, limit - position - 3);
      makeRoom(max);
      int read = fill();
      if (read <= 0) {
        return read;
      }
    }
  }

  private int endOfHead(int from) {
    for (int i = from; i < limit; i++) {
      if (buffer[i] == '\n') {
        if (i + 1 < limit && buffer[i + 1] == '\n') {
          return i + 2;
        }
        if (i + 2 < limit && buffer[i + 1] == '\r' && buffer[i + 2] == '\n') {
          return i + 3;
        }
      }
    }
    return -1;
  }

  private void makeRoom(int max) throws HeadTooLongException {
    if (limit < buffer.length || buffer.length == 0) {
      return;
    }
    if (position == 0) {
      if (buffer.length >= max) {
        throw new HeadTooLongException();
      }
      buffer = Arrays.copyOf(buffer, Math.min(max, buffer.length * 2));
      return;
    }
    System.arraycopy(buffer, position, buffer, 0, limit - position);
    limit -= position;
    position = 0;
  }

  byte[] bytes() {
    return buffer;
  }

  int position() {
    return position;
  }

  void skip(int length) {
    position += length;
  }

  /** Closes the socket; who watches it may not know before {@link #close}. */
  void closeSocket() {
    try {
      tcp.close();
    } catch (IOException e) {
      LOG.debug("Closing a connection to {} failed: {}", origin, e.toString());
    }
  }

  /** Ends it, from whichever thread: who reads or writes it fails. */
  void close() {
    closeSocket();
    WatchedChannel begun = watch;
    if (begun != null) {
      begun.closed();
    }
  }

  /** The answer's head has no end. */
  static final class HeadTooLongException extends IOException {
    @Serial private static final long serialVersionUID = 1L;
  }
}
