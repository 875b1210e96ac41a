package io.kvasir.http;

import io.kvasir.telemetry.RedactedException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.CancelledKeyException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Platform threads that wait for many channels at once and read each as its bytes come. An event of a stream that is
 * read here shares its wait with others and changes no thread, which is most of what it costs on a virtual thread of
 * its own. In between they run what is brief of the requests that came ({@link ConnectionThread}), for the same reason,
 * as far as they keep up with them. Thread-safe.
 */
public final class ChannelLoop implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(ChannelLoop.class);

  /** So many are run before channels have their turn again: some milliseconds of requests. */
  private static final int TASKS_IN_A_ROW = 64;

  /**
   * With so many that wait, some ten milliseconds of them, others are to help: of all connections one thread may happen
   * to have the busy ones. To share sooner costs more than it saves, for whoever helps has to be woken.
   */
  private static final int BUSY_TASKS = 256;

  private final LoopThread[] threads;
  private final AtomicInteger watched = new AtomicInteger();

  /** What a reader waits for next. */
  public enum Next {
    /** More bytes. */
    MORE,
    /** That it is resumed. */
    PAUSE,
    /** Nothing: it has ended. */
    END
  }

  /** The reader of one channel. It runs on a thread that others share, so it must not block. */
  public interface Reader {
    /**
     * Reads what has come. It may be called in a pause, for a {@link Watch#resume} that came before it: a reader that
     * must not read then returns {@code PAUSE} again.
     *
     * @param buffers for use within the call
     * @throws IOException ends the reading with that failure
     */
    Next read(Buffers buffers) throws IOException;

    /**
     * The reading has ended and the loop has let go of the channel. Called once, and nothing after it.
     *
     * @param failure what the reading failed with, also that the channel was closed; null when it ended by itself
     */
    void ended(@Nullable IOException failure);
  }

  /**
   * The buffers of a loop's thread. Readers use them in turn, so that thousands of channels that wait have none of
   * their own, and those that are read find these in the processor's caches.
   */
  public static final class Buffers {
    private static final int INPUT_BYTES = 8 << 10;
    private static final int PIECE_BYTES = 32 << 10;
    private static final int DIRECT_BYTES = 128 << 10;

    private final byte[] input = new byte[INPUT_BYTES];
    private final byte[] piece = new byte[PIECE_BYTES];
    private final ByteBuffer direct = ByteBuffer.allocateDirect(DIRECT_BYTES);

    private Buffers() {}

    /** {@value #INPUT_BYTES} bytes for what comes from the channel. */
    public byte[] input() {
      return input;
    }

    /** {@value #PIECE_BYTES} bytes for a piece of a body, its framing taken off. */
    public byte[] piece() {
      return piece;
    }

    /** {@value #DIRECT_BYTES} bytes outside of the heap. */
    public ByteBuffer direct() {
      return direct;
    }
  }

  /**
   * A loop of as many threads as {@code count}.
   *
   * @param name of its threads, to which their numbers are added
   */
  public ChannelLoop(String name, int count) {
    threads = new LoopThread[count];
    try {
      for (int i = 0; i < count; i++) {
        threads[i] = new LoopThread(this, Selector.open(), name + "-" + i);
      }
    } catch (IOException e) {
      close();
      throw new UncheckedIOException("no selector for " + name, e);
    }
    for (LoopThread each : threads) {
      each.start();
    }
  }

  /** As many threads as processors. */
  public static int defaultThreads() {
    return Runtime.getRuntime().availableProcessors();
  }

  /**
   * A channel to be read, by the caller's own thread if that is one of these. It begins with the first {@link
   * Watch#resume}.
   *
   * @param channel not blocking, and not watched already
   */
  public Watch watch(SocketChannel channel, Reader reader) {
    LoopThread thread =
        ConnectionThread.currentConnection() instanceof LoopThread own && own.loop == this
            ? own
            : threads[(watched.getAndIncrement() & Integer.MAX_VALUE) % threads.length];
    return new Watch(thread, channel, reader);
  }

  /** Ends every reading with a failure, and the threads. */
  @Override
  public void close() {
    for (LoopThread each : threads) {
      if (each != null) {
        each.closed = true;
        each.selector.wakeup();
      }
    }
  }

  /** One channel that is watched. */
  public static final class Watch {
    private final LoopThread thread;
    private final SocketChannel channel;
    private final Reader reader;
    private final AtomicBoolean queued = new AtomicBoolean();
    private volatile boolean resumed;
    private volatile @Nullable Thread writer;
    private volatile boolean over;

    // The loop's thread's.
    private @Nullable SelectionKey key;

    private Watch(LoopThread thread, SocketChannel channel, Reader reader) {
      this.thread = thread;
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
      return ConnectionThread.currentConnection() == thread;
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
      if (queued.compareAndSet(false, true) && !thread.changed(this)) {
        over = true;
        LockSupport.unpark(writer);
        reader.ended(new AsynchronousCloseException());
      }
    }
  }

  private static final class LoopThread extends CarrierThread {
    private final ChannelLoop loop;
    private final Selector selector;
    private final Buffers buffers = new Buffers();
    private final Queue<Watch> changes = new ConcurrentLinkedQueue<>();
    private final Queue<Runnable> tasks = new ConcurrentLinkedQueue<>();
    private final AtomicInteger waiting = new AtomicInteger();
    private final List<End> ends = new ArrayList<>();

    /** Whether it may be waiting for channels, so that whoever has something else for it has to wake it. */
    private final AtomicBoolean asleep = new AtomicBoolean();

    private volatile boolean closed;

    // Guarded by changes.
    private boolean stopped;

    private record End(Watch watch, @Nullable IOException failure) {}

    LoopThread(ChannelLoop loop, Selector selector, String name) {
      super(name);
      this.loop = loop;
      this.selector = selector;
      setDaemon(true);
    }

    /** Has the thread look at a watch; false when it has stopped. */
    boolean changed(Watch watch) {
      synchronized (changes) {
        if (stopped) {
          return false;
        }
        changes.add(watch);
      }
      wake();
      return true;
    }

    /**
     * Has the thread run something.
     *
     * @throws RejectedExecutionException when it has stopped
     */
    @Override
    public void execute(Runnable task) {
      synchronized (changes) {
        if (stopped) {
          throw new RejectedExecutionException(getName() + " has ended");
        }
        waiting.incrementAndGet();
        tasks.add(task);
      }
      wake();
    }

    @Override
    boolean isBusy() {
      return waiting.get() >= BUSY_TASKS;
    }

    private void wake() {
      if (asleep.get() && asleep.compareAndSet(true, false)) {
        selector.wakeup();
      }
    }

    @Override
    public void run() {
      try {
        while (!closed) {
          select();
          applyChanges();
          while (!ends.isEmpty()) {
            release();
          }
          runTasks();
        }
      } catch (IOException | RuntimeException | Error e) {
        LOG.error("{} failed: what it reads ends", getName(), RedactedException.of(e));
      } finally {
        endAll();
      }
    }

    /** Waits for channels, unless there is something else to do. */
    private void select() throws IOException {
      asleep.set(true);
      if (changes.isEmpty() && tasks.isEmpty()) {
        selector.select(this::ready);
      } else {
        selector.selectNow(this::ready);
      }
      asleep.set(false);
    }

    /** Runs what there is, and what that gives it to run; what comes from channels has its turn in between. */
    private void runTasks() {
      for (int i = 0; i < TASKS_IN_A_ROW; i++) {
        Runnable next = tasks.poll();
        if (next == null) {
          return;
        }
        waiting.decrementAndGet();
        try {
          next.run();
        } catch (RuntimeException | Error e) {
          LOG.error("A task of {} failed", getName(), RedactedException.of(e));
        }
      }
    }

    /** Ends what is watched, and what will be: nobody waits for a thread that has stopped. */
    private void endAll() {
      synchronized (changes) {
        stopped = true;
      }
      closed = true;
      try (selector) {
        for (SelectionKey key : selector.keys()) {
          end((Watch) key.attachment(), new AsynchronousCloseException());
        }
        applyChanges();
        release();
        while (!tasks.isEmpty()) {
          runTasks();
        }
      } catch (IOException e) {
        LOG.error("{} could not be closed", getName(), e);
      }
    }

    private void applyChanges() {
      for (Watch next = changes.poll(); next != null; next = changes.poll()) {
        next.queued.set(false);
        apply(next);
      }
    }

    private void apply(Watch watch) {
      if (watch.over) {
        return;
      }
      if (closed || !watch.channel.isOpen()) {
        end(watch, new AsynchronousCloseException());
        return;
      }
      try {
        SelectionKey key = watch.key;
        if (key == null) {
          key = watch.channel.register(selector, 0, watch);
          watch.key = key;
        }
        if (watch.writer != null) {
          key.interestOpsOr(SelectionKey.OP_WRITE);
        }
        if (watch.resumed) {
          watch.resumed = false;
          key.interestOpsOr(SelectionKey.OP_READ);
          // What came before may have been read with something else, and makes the channel ready no more.
          read(watch, key);
        }
      } catch (IOException e) {
        end(watch, e);
      } catch (CancelledKeyException e) {
        end(watch, new AsynchronousCloseException());
      }
    }

    private void ready(SelectionKey key) {
      Watch watch = (Watch) key.attachment();
      if (watch.over) {
        return;
      }
      try {
        int ready = key.readyOps();
        if ((ready & SelectionKey.OP_WRITE) != 0) {
          key.interestOpsAnd(~SelectionKey.OP_WRITE);
          Thread writer = watch.writer;
          watch.writer = null;
          LockSupport.unpark(writer);
        }
        if ((ready & SelectionKey.OP_READ) != 0) {
          read(watch, key);
        }
      } catch (CancelledKeyException e) {
        end(watch, new AsynchronousCloseException());
      }
    }

    private void read(Watch watch, SelectionKey key) {
      try {
        switch (watch.reader.read(buffers)) {
          case MORE -> {}
          case PAUSE -> key.interestOpsAnd(~SelectionKey.OP_READ);
          case END -> end(watch, null);
        }
      } catch (IOException e) {
        end(watch, e);
      } catch (RuntimeException | Error e) {
        LOG.error("A reader failed", RedactedException.of(e));
        end(watch, new IOException("the reader failed", e));
      }
    }

    private void end(Watch watch, @Nullable IOException failure) {
      if (!watch.over) {
        watch.over = true;
        SelectionKey key = watch.key;
        if (key != null) {
          key.cancel();
        }
        ends.add(new End(watch, failure));
      }
    }

    private void release() throws IOException {
      List<End> ended = List.copyOf(ends);
      ends.clear();
      // A selector lets go of a channel only while it selects.
      selector.selectNow(this::ready);
      for (End each : ended) {
        LockSupport.unpark(each.watch.writer);
        try {
          each.watch.reader.ended(each.failure);
        } catch (RuntimeException e) {
          LOG.error("A reader failed at its end", RedactedException.of(e));
        }
      }
    }
  }
}
