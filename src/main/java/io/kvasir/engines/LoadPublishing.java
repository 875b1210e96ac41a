package io.kvasir.engines;

/** How an engine publishes its load. */
public sealed interface LoadPublishing {
  /** By ZMQ sockets. */
  record Zmq(LoadFeed feed) implements LoadPublishing {}

  /**
   * In a way that the router does not read.
   *
   * @param why the reason with the remedy, in whole sentences
   */
  record Unusable(String why) implements LoadPublishing {}

  /** Not as far as it tells. */
  record Untold() implements LoadPublishing {}
}
