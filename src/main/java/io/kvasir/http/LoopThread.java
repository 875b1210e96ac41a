package io.kvasir.http;

import io.kvasir.telemetry.RedactedException;
import java.io.IOException;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One thread of a {@link ChannelLoop}: it waits for its channels, has each handle what it is ready for, and in between
 * runs what is given to it.
 */
final class LoopThread extends CarrierThread implements WatchedChannel.Watcher {
  private static final Logger LOG = LoggerFactory.getLogger(LoopThread.class);

  /** So many are run before channels have their turn again: some milliseconds of requests. */
  private static final int TASKS_IN_A_ROW = 64;

  /**
   * With so many that wait, some ten milliseconds of them, others are to help: of all connections one thread may happen
   * to have the busy ones. To share sooner costs more than it saves, for whoever helps has to be woken.
   */
  private static final int BUSY_TASKS = 256;

  private final Selector selector;
  private final ChannelReader.Buffers buffers = new ChannelReader.Buffers();
  private final Queue<WatchedChannel> changes = new ConcurrentLinkedQueue<>();
  private final Queue<Runnable> tasks = new ConcurrentLinkedQueue<>();
  private final AtomicInteger waiting = new AtomicInteger();
  private final List<End> ends = new ArrayList<>();

  /** Whether it may be waiting for channels, so that whoever has something else for it has to wake it. */
  private final AtomicBoolean asleep = new AtomicBoolean();

  private volatile boolean closed;

  // Guarded by changes.
  private boolean stopped;

  private record End(WatchedChannel channel, @Nullable IOException failure) {}

  LoopThread(Selector selector, String name) {
    super(name);
    this.selector = selector;
    setDaemon(true);
  }

  @Override
  public boolean isCurrent() {
    return ConnectionThread.currentConnection() == this;
  }

  @Override
  public boolean changed(WatchedChannel watched) {
    synchronized (changes) {
      if (stopped) {
        return false;
      }
      changes.add(watched);
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

  /** Ends the thread, and what it watches. Any thread. */
  void close() {
    closed = true;
    selector.wakeup();
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
        ((WatchedChannel) key.attachment()).end(new AsynchronousCloseException());
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
    for (WatchedChannel next = changes.poll(); next != null; next = changes.poll()) {
      next.dequeued();
      if (closed) {
        next.end(new AsynchronousCloseException());
      } else {
        next.apply(selector, buffers);
      }
    }
  }

  private void ready(SelectionKey key) {
    ((WatchedChannel) key.attachment()).ready(key, buffers);
  }

  @Override
  public void ended(WatchedChannel watched, @Nullable IOException failure) {
    ends.add(new End(watched, failure));
  }

  private void release() throws IOException {
    List<End> ended = List.copyOf(ends);
    ends.clear();
    // A selector lets go of a channel only while it selects.
    selector.selectNow(this::ready);
    for (End each : ended) {
      try {
        each.channel.release(each.failure);
      } catch (RuntimeException e) {
        LOG.error("A reader failed at its end", RedactedException.of(e));
      }
    }
  }
}
