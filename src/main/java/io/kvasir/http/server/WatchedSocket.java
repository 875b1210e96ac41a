package io.kvasir.http.server;

import io.kvasir.http.ChannelLoop;
import io.kvasir.http.ChannelReader;
import io.kvasir.http.WatchedChannel;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A client's socket that is read by a loop with many others, and written without waiting where there is room. */
final class WatchedSocket implements ClientSocket, ChannelReader {
  private static final Logger LOG = LoggerFactory.getLogger(WatchedSocket.class);

  private final SocketChannel channel;
  private final ChannelLoop loop;
  private volatile @Nullable WatchedChannel watch;
  private volatile @Nullable ClientInput input;

  // Guarded by this.
  private @Nullable Runnable ended;
  private boolean over;

  WatchedSocket(SocketChannel channel, ChannelLoop loop) {
    this.channel = channel;
    this.loop = loop;
  }

  @Override
  public void open() throws IOException {
    channel.socket().setTcpNoDelay(true);
    channel.configureBlocking(false);
    watch = loop.watch(channel, this);
  }

  private WatchedChannel watch() throws IOException {
    WatchedChannel opened = watch;
    if (opened == null) {
      throw new IOException("not connected");
    }
    return opened;
  }

  @Override
  public void read(ClientInput from, Runnable atEnd) {
    synchronized (this) {
      input = from;
      ended = atEnd;
      if (!over) {
        resume();
        return;
      }
    }
    // It was closed before it was read.
    atEnd.run();
  }

  @Override
  public void resume() {
    WatchedChannel opened = watch;
    if (opened != null && input != null) {
      opened.resume();
    }
  }

  @Override
  public ChannelReader.Next read(ChannelReader.Buffers buffers) throws IOException {
    ClientInput to = input;
    if (to == null) {
      return ChannelReader.Next.PAUSE;
    }
    ByteBuffer scratch = buffers.direct();
    int length = channel.read(scratch.clear().limit(Math.min(scratch.capacity(), to.room())));
    return switch (length) {
      case -1 -> ChannelReader.Next.END;
      case 0 -> ChannelReader.Next.MORE;
      default -> to.accept(scratch.flip());
    };
  }

  @Override
  public void ended(@Nullable IOException failure) {
    if (failure != null) {
      LOG.debug("A connection from {} ended: {}", this, failure.toString());
    }
    Runnable then;
    synchronized (this) {
      over = true;
      then = ended;
    }
    if (then != null) {
      // It cancels the exchange, and with it whatever that holds.
      Thread.startVirtualThread(then);
    }
  }

  @Override
  public boolean canOffer() {
    return true;
  }

  @Override
  public int offer(byte[] bytes, int offset, int length) throws IOException {
    return channel.write(ByteBuffer.wrap(bytes, offset, length));
  }

  @Override
  public int write(byte[] bytes, int offset, int length) throws IOException {
    while (true) {
      int written = offer(bytes, offset, length);
      if (written > 0) {
        return written;
      }
      watch().awaitWritable();
    }
  }

  @Override
  public void shutdownOutput() throws IOException {
    channel.shutdownOutput();
  }

  @Override
  public void close() throws IOException {
    channel.close();
    WatchedChannel opened = watch;
    if (opened != null) {
      opened.closed();
    }
  }

  @Override
  public String toString() {
    return String.valueOf(channel.socket().getInetAddress());
  }
}
