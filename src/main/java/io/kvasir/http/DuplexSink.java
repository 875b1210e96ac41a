package io.kvasir.http;

import org.jspecify.annotations.Nullable;

/**
 * A client's connection that has left HTTP: what is written goes to the client as it is, and what the client sends can
 * be taken. Bytes that nobody takes are kept only up to a bound; then the client has to wait.
 */
public interface DuplexSink extends DeferringSink {
  /** Learns of what happens on a client's connection, on any thread; must not block. */
  interface Listener {
    /** The client has sent something, after {@link #take} had nothing. */
    void available();

    /** The connection is to be closed in an orderly way, for the node stops. */
    void shutDown();
  }

  /** Begins to receive: from now on {@code listener} is called. Once, before the first {@link #take}. */
  void listen(Listener listener);

  /**
   * Takes all that the client has sent and nobody has taken; null when there is nothing, and then the next bytes are
   * announced. One thread at a time.
   */
  byte @Nullable [] take();
}
