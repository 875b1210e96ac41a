package io.kvasir.engines;

/** Where the router takes an engine's cache events from. */
public sealed interface EventOrigin {
  /** From where the engine says that it publishes them. */
  record Announced(EventPublishing.Zmq zmq) implements EventOrigin {}

  /**
   * From the default endpoint of its kind, where somebody publishes and no other engine is known to.
   *
   * @param plainOnly whether engines of its kind leave out adapters and salts there
   */
  record Assumed(String endpoint, boolean plainOnly) implements EventOrigin {}

  /**
   * From nowhere: the router believes an engine to keep what it was sent.
   *
   * @param why the reason, a whole sentence
   */
  record None(String why) implements EventOrigin {}
}
