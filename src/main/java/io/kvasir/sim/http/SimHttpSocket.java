package io.kvasir.sim.http;

import java.io.IOException;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.CancelledKeyException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.util.concurrent.Semaphore;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A client's socket: read by the server's thread as bytes come, written by the threads that answer. */
final class SimHttpSocket {
  private static final Logger LOG = LoggerFactory.getLogger(SimHttpSocket.class);

  private final SocketChannel channel;
  private final SelectionKey key;
  private final Owner owner;

  /** Has a permit whenever there may be room to write again. */
  private final Semaphore room = new Semaphore(0);

  /** Whose socket it is: attached to its selection key. */
  interface Owner {
    /** Somebody has closed it, maybe once more. Any thread. */
    void closed();
  }

  /** Begins to wait for bytes. */
  SimHttpSocket(SocketChannel channel, Selector selector, Owner owner) throws IOException {
    this.channel = channel;
    this.owner = owner;
    channel.configureBlocking(false);
    channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
    key = channel.register(selector, SelectionKey.OP_READ, owner);
  }

  /**
   * Takes what the selector tells: lets a writer go on, and reads what has come. On the server's thread.
   *
   * @return whether anything was read; it is closed when the client has closed its end
   */
  boolean readInto(ByteBuffer buffer) throws IOException {
    buffer.clear().limit(0);
    try {
      if (key.isWritable()) {
        key.interestOpsAnd(~SelectionKey.OP_WRITE);
        room.release();
      }
      if (key.isReadable() && channel.read(buffer.clear()) < 0) {
        close();
      }
    } catch (CancelledKeyException closed) {
      LOG.trace("Closed meanwhile", closed);
    }
    return buffer.flip().hasRemaining();
  }

  /** Leaves what comes in the kernel. */
  void pauseReading() {
    setInterest(SelectionKey.OP_READ, false);
  }

  /** Reads again. Any thread. */
  void readOn() {
    setInterest(SelectionKey.OP_READ, true);
  }

  private void setInterest(int operation, boolean wanted) {
    try {
      if (wanted) {
        key.interestOpsOr(operation);
        key.selector().wakeup();
      } else {
        key.interestOpsAnd(~operation);
      }
    } catch (CancelledKeyException closed) {
      LOG.trace("Closed meanwhile", closed);
    }
  }

  boolean isOpen() {
    return channel.isOpen();
  }

  /** Writes all of it, which waits while the client does not read; for one thread at a time, not the server's. */
  void write(byte[] bytes, int length) throws IOException {
    ByteBuffer rest = ByteBuffer.wrap(bytes, 0, length);
    while (!writeNow(rest)) {
      awaitRoom();
    }
  }

  /** Writes as much of it as there is room for; returns whether that was all. */
  boolean writeNow(ByteBuffer bytes) throws IOException {
    int _ = channel.write(bytes);
    return !bytes.hasRemaining();
  }

  /** Waits until the client has read something; for one thread at a time, not the server's. */
  void awaitRoom() {
    setInterest(SelectionKey.OP_WRITE, true);
    room.acquireUninterruptibly();
  }

  /** Closes it with a reset, as a process that dies with unread data does. */
  void reset() {
    try {
      channel.setOption(StandardSocketOptions.SO_LINGER, 0);
    } catch (IOException e) {
      LOG.trace("A connection was closed already", e);
    }
    close();
  }

  /** Closes it. Any thread; idempotent. */
  void close() {
    try {
      channel.close();
    } catch (IOException e) {
      LOG.trace("A socket could not be closed", e);
    }
    key.selector().wakeup(); // only the selector closes what is registered with it
    room.release();
    owner.closed();
  }
}
