package io.kvasir.http.client;

import io.kvasir.http.ChannelLoop;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The loop that watches a client's connections: one that others have, too, or one of the client's own, whose threads
 * begin with the first connection, for many clients have none. Thread-safe.
 */
final class ClientLoop implements Supplier<ChannelLoop>, AutoCloseable {
  private final String name;
  private final int threads;
  private final boolean own;
  private volatile @Nullable ChannelLoop loop;
  private volatile boolean closed;

  /** A loop of the client's own. */
  ClientLoop(String name, int threads) {
    this.name = name;
    this.threads = threads;
    this.own = true;
  }

  /** One that is somebody else's, and is not closed by this. */
  ClientLoop(ChannelLoop shared) {
    this.name = "";
    this.threads = 0;
    this.own = false;
    this.loop = shared;
  }

  @Override
  public ChannelLoop get() {
    ChannelLoop begun = loop;
    return begun == null ? begin() : begun;
  }

  private synchronized ChannelLoop begin() {
    ChannelLoop begun = loop;
    if (begun == null) {
      begun = new ChannelLoop(name, threads);
      loop = begun;
      if (closed) {
        begun.close();
      }
    }
    return begun;
  }

  /** Ends what it reads, if it is the client's own. */
  @Override
  public void close() {
    if (!own) {
      return;
    }
    synchronized (this) {
      closed = true;
      if (loop != null) {
        loop.close();
      }
    }
  }
}
