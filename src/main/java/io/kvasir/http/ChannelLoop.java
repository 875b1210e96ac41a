package io.kvasir.http;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Platform threads that wait for many channels at once and read each as its bytes come. An event of a stream that is
 * read here shares its wait with others and changes no thread, which is most of what it costs on a virtual thread of
 * its own. In between they run what is brief of the requests that came ({@link ConnectionThread}), for the same reason,
 * as far as they keep up with them. Thread-safe.
 */
public final class ChannelLoop implements AutoCloseable {
  private final LoopThread[] threads;
  private final AtomicInteger watched = new AtomicInteger();

  /**
   * A loop of as many threads as {@code count}.
   *
   * @param name of its threads, to which their numbers are added
   */
  public ChannelLoop(String name, int count) {
    threads = new LoopThread[count];
    try {
      for (int i = 0; i < count; i++) {
        threads[i] = new LoopThread(Selector.open(), name + "-" + i);
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
   * WatchedChannel#resume}.
   *
   * @param channel not blocking, and not watched already
   */
  public WatchedChannel watch(SocketChannel channel, ChannelReader reader) {
    LoopThread own = current();
    return new WatchedChannel(
        own == null ? threads[(watched.getAndIncrement() & Integer.MAX_VALUE) % threads.length] : own, channel, reader);
  }

  private @Nullable LoopThread current() {
    Executor current = ConnectionThread.currentConnection();
    for (LoopThread each : threads) {
      if (each == current) {
        return each;
      }
    }
    return null;
  }

  /** Ends every reading with a failure, and the threads. */
  @Override
  public void close() {
    for (LoopThread each : threads) {
      if (each != null) {
        each.close();
      }
    }
  }
}
