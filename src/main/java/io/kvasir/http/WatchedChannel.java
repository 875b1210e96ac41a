package io.kvasir.http;

import io.kvasir.telemetry.RedactedException;
import java.io.IOException;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.CancelledKeyException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One channel that a {@link ChannelLoop} watches: what it waits for, and its reader. What is public is thread-safe, the
 * rest is for the loop's thread.
 */
public final class WatchedChannel {
  private static final Logger LOG = LoggerFactory.getLogger(WatchedChannel.class);

  private final Watcher watcher;
  private final SocketChannel channel;
  private final ChannelReader reader;
  private final AtomicBoolean queued = new AtomicBoolean();
  private volatile boolean resumed;
  private volatile @Nullable Thread writer;
  private volatile boolean over;

  // The loop's thread's.
  private @Nullable SelectionKey key;

  /** Who watches it: the loop's thread. */
  interface Watcher {
    /** Whether the caller runs on it, or is carried by it. Any thread. */
    boolean isCurrent();

    /** Has the thread {@link #apply} what has changed; false when it has stopped. Any thread. */
    boolean changed(WatchedChannel watched);

    /** Has the thread let go of the channel, then {@link #release} it. */
    void ended(WatchedChannel watched, @Nullable IOException failure);
  }

  WatchedChannel(Watcher watcher, SocketChannel channel, ChannelReader reader) {
    this.watcher = watcher;
    this.channel = channel;
    this.reader = reader;
  }

  /** Begins to read, or goes on after a pause. */
  public void resume() {
    resumed = true;
    changed();
  }

  /** Whether the caller's thread reads it, or carries the caller. */
  public boolean isCurrent() {
    return watcher.isCurrent();
  }

  /** Notes that the channel has been closed, by whichever thread: the reading ends. */
  public void closed() {
    changed();
  }

  /**
   * Waits until the channel can probably be written. One thread at a time, not the loop's.
   *
   * @throws IOException when the reading has ended, and so will what is written
   */
  public void awaitWritable() throws IOException {
    writer = Thread.currentThread();
    changed();
    while (writer != null && !over) {
      LockSupport.park(this);
    }
    if (over) {
      throw new AsynchronousCloseException();
    }
  }

  private void changed() {
    if (queued.compareAndSet(false, true) && !watcher.changed(this)) {
      over = true;
      release(new AsynchronousCloseException());
    }
  }

  // The loop's thread.

  /** Notes that the thread looks at it now: what changes from here on is another change. */
  void dequeued() {
    queued.set(false);
  }

  /** Has the channel waited for as its reader and writers want it by now. */
  void apply(Selector selector, ChannelReader.Buffers buffers) {
    if (over) {
      return;
    }
    if (!channel.isOpen()) {
      end(new AsynchronousCloseException());
      return;
    }
    try {
      SelectionKey registered = key;
      if (registered == null) {
        registered = channel.register(selector, 0, this);
        key = registered;
      }
      if (writer != null) {
        registered.interestOpsOr(SelectionKey.OP_WRITE);
      }
      if (resumed) {
        resumed = false;
        registered.interestOpsOr(SelectionKey.OP_READ);
        // What came before may have been read with something else, and makes the channel ready no more.
        read(registered, buffers);
      }
    } catch (IOException e) {
      end(e);
    } catch (CancelledKeyException e) {
      end(new AsynchronousCloseException());
    }
  }

  /** Reads the channel and wakes who writes it, as far as it is ready for that. */
  void ready(SelectionKey selected, ChannelReader.Buffers buffers) {
    if (over) {
      return;
    }
    try {
      int ready = selected.readyOps();
      if ((ready & SelectionKey.OP_WRITE) != 0) {
        selected.interestOpsAnd(~SelectionKey.OP_WRITE);
        Thread waiting = writer;
        writer = null;
        LockSupport.unpark(waiting);
      }
      if ((ready & SelectionKey.OP_READ) != 0) {
        read(selected, buffers);
      }
    } catch (CancelledKeyException e) {
      end(new AsynchronousCloseException());
    }
  }

  private void read(SelectionKey registered, ChannelReader.Buffers buffers) {
    try {
      switch (reader.read(buffers)) {
        case MORE -> {}
        case PAUSE -> registered.interestOpsAnd(~SelectionKey.OP_READ);
        case END -> end(null);
      }
    } catch (IOException e) {
      end(e);
    } catch (RuntimeException | Error e) {
      LOG.error("A reader failed", RedactedException.of(e));
      end(new IOException("the reader failed", e));
    }
  }

  /** Ends the reading; idempotent. */
  void end(@Nullable IOException failure) {
    if (!over) {
      over = true;
      if (key != null) {
        key.cancel();
      }
      watcher.ended(this, failure);
    }
  }

  /** Lets those know that wait for it: the loop has let go of the channel. */
  void release(@Nullable IOException failure) {
    LockSupport.unpark(writer);
    reader.ended(failure);
  }
}
