package io.kvasir.events;

import java.nio.channels.ClosedChannelException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import org.zeromq.ZMQ;
import org.zeromq.ZMQ.Socket;

/** A ZMQ socket that is read on a loop's thread. Belongs to that thread. */
final class ZmqChannel {
  /** The receiver of the messages. */
  interface FrameHandler {
    /** Whether a message may come now; if not, the channel is not read until it is resumed. */
    boolean ready();

    /** How many frames of a message are kept at most. */
    default int maxFrames() {
      return 8;
    }

    /** A message of {@code count} frames; more than the array holds are not kept. */
    void message(byte[][] frames, int count);

    /** The socket or the handler failed: the channel cannot be used any more. */
    void failed(RuntimeException why);
  }

  private final Socket socket;
  private final SelectionKey key;
  private final FrameHandler handler;
  private final byte[][] frames;
  private boolean closed;

  /** Whether it is in its loop's run queue. */
  boolean queued;

  ZmqChannel(Socket socket, Selector selector, FrameHandler handler) {
    this.socket = socket;
    this.handler = handler;
    this.frames = new byte[handler.maxFrames()][];
    try {
      this.key = socket.getFD().register(selector, SelectionKey.OP_READ, this);
    } catch (ClosedChannelException e) {
      throw new IllegalStateException("a socket was closed while it was opened", e);
    }
  }

  Socket socket() {
    return socket;
  }

  FrameHandler handler() {
    return handler;
  }

  /**
   * Reads up to {@code budget} messages. Returns whether there may be more: a socket signals only what comes
   * after it was found empty, so it has to be read until it is.
   */
  boolean serve(int budget) {
    for (int i = 0; i < budget; i++) {
      if (closed) {
        return false;
      }
      if (!handler.ready()) {
        key.interestOps(0);
        return false;
      }
      byte[] frame = socket.recv(ZMQ.DONTWAIT);
      if (frame == null) {
        return false;
      }
      int count = 0;
      while (frame != null) {
        if (count < frames.length) {
          frames[count] = frame;
        }
        count++;
        frame = socket.hasReceiveMore() ? socket.recv(ZMQ.DONTWAIT) : null;
      }
      handler.message(frames, count);
    }
    return true;
  }

  void resume() {
    if (!closed) {
      key.interestOps(SelectionKey.OP_READ);
    }
  }

  /** Takes it off its selector; the socket is closed by the loop. */
  void close() {
    closed = true;
    key.cancel();
  }
}
