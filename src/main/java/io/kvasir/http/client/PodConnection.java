package io.kvasir.http.client;

import io.kvasir.http.ChannelLoop;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.Serial;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** One connection to a pod: its socket and what has been read ahead from it. One thread at a time but for close. */
class PodConnection {
  private static final int BUFFER = 8 << 10;
  private static final byte[] NONE = {};

  private final PodOrigin origin;
  private final SocketChannel channel;
  private final Socket tcp;
  private @Nullable InputStream in;
  private @Nullable OutputStream out;

  /** None between the pieces of a body that a loop reads. */
  private byte[] buffer = NONE;

  /** Whether {@link #buffer} is the loop's. */
  private boolean borrowed;

  private int position;
  private int limit;
  private long idleSince;
  private boolean used;

  /** Whether reading never waits, as in a loop. */
  private volatile boolean watched;

  private volatile ChannelLoop.@Nullable Watch watch;

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

  void open(Socket socket) throws IOException {
    in = socket.getInputStream();
    out = socket.getOutputStream();
  }

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

  /**
   * Whether the pod has closed an idle connection, or sent something that nobody requested: a request must not be sent
   * on it. Does not wait.
   */
  boolean isStale() {
    try {
      channel.configureBlocking(false);
      try {
        return channel.read(ByteBuffer.allocate(1)) != 0;
      } finally {
        channel.configureBlocking(true);
      }
    } catch (IOException e) {
      return true;
    }
  }

  void write(byte[] bytes, int offset, int length) throws IOException {
    if (out == null) {
      throw new IOException("not connected");
    }
    out.write(bytes, offset, length);
  }

  // Reading: either past the buffer, when it is empty, or from it.

  /** Whether it can be read in a loop. */
  boolean canBeWatched() {
    return !origin.secure();
  }

  /**
   * Has it read by {@code reader} in a loop with others, while the calling thread waits.
   *
   * @throws IOException what the reading failed with
   */
  void watch(ChannelLoop loop, BodyReader reader) throws IOException {
    channel.configureBlocking(false);
    watched = true;
    try {
      CompletableFuture<@Nullable IOException> end = new CompletableFuture<>();
      ChannelLoop.Watch reading = loop.watch(channel, new WatchedBody(reader, end));
      watch = reading;
      reading.resume();
      IOException failure = end.join();
      if (failure != null) {
        throw failure;
      }
    } finally {
      watch = null;
      watched = false;
      if (channel.isOpen()) {
        channel.configureBlocking(true);
      }
    }
  }

  /** Has it watched until it is closed; from now on neither {@link #readDirectly} nor {@link #offer} waits. */
  ChannelLoop.Watch watch(ChannelLoop loop, ChannelLoop.Reader reader) throws IOException {
    channel.configureBlocking(false);
    watched = true;
    ChannelLoop.Watch watching = loop.watch(channel, reader);
    watch = watching;
    return watching;
  }

  /** Writes as much as is taken at once; returns how much. */
  int offer(byte[] bytes, int offset, int length) throws IOException {
    return channel.write(ByteBuffer.wrap(bytes, offset, length));
  }

  /** The reader of a body in a loop. */
  interface BodyReader {
    /**
     * Reads what has come, once; whether more is awaited.
     *
     * @param piece takes it, and is others' afterwards
     */
    boolean read(byte[] piece) throws IOException;
  }

  private final class WatchedBody implements ChannelLoop.Reader {
    private final BodyReader reader;
    private final CompletableFuture<@Nullable IOException> end;

    WatchedBody(BodyReader reader, CompletableFuture<@Nullable IOException> end) {
      this.reader = reader;
      this.end = end;
    }

    @Override
    public ChannelLoop.Next read(ChannelLoop.Buffers buffers) throws IOException {
      borrow(buffers.input());
      try {
        do {
          if (!reader.read(buffers.piece())) {
            return ChannelLoop.Next.END;
          }
        } while (position < limit);
        return ChannelLoop.Next.MORE;
      } finally {
        giveBack();
      }
    }

    @Override
    public void ended(@Nullable IOException failure) {
      end.complete(failure);
    }
  }

  private void borrow(byte[] lent) {
    if (position == limit) {
      buffer = lent;
      borrowed = true;
      position = 0;
      limit = 0;
    }
  }

  /** Keeps what has not been read. */
  private void giveBack() {
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

  int readDirectly(byte[] bytes, int offset, int length) throws IOException {
    if (in == null) {
      throw new IOException("not connected");
    }
    return watched ? channel.read(ByteBuffer.wrap(bytes, offset, length)) : in.read(bytes, offset, length);
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
      // The descriptor is given back regardless.
      in = null;
    }
  }

  void close() {
    closeSocket();
    ChannelLoop.Watch reading = watch;
    if (reading != null) {
      reading.closed();
    }
  }

  /** The answer's head has no end. */
  static final class HeadTooLongException extends IOException {
    @Serial private static final long serialVersionUID = 1L;
  }
}
