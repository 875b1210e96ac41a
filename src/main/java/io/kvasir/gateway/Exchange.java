package io.kvasir.gateway;

import org.apache.pekko.http.javadsl.model.HttpRequest;

/** One request on a client's connection, its body read whole. Thread-safe. */
public interface Exchange {
  /** The request's head; its entity has been read, use {@link #body}. */
  HttpRequest request();

  /** The body's bytes as they came; not to be changed. */
  byte[] body();

  /** Whether the client has closed its connection. */
  boolean clientGone();

  /** Runs {@code action} once if the client leaves before the answer is complete; at once if it has left. */
  void onClientGone(Runnable action);
}
