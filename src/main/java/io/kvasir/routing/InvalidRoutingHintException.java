package io.kvasir.routing;

/** What a client says of how its request is to be routed makes no sense; the message tells it in plain words. */
public final class InvalidRoutingHintException extends RuntimeException {
  private static final long serialVersionUID = 1;

  /**
   * The client is told why.
   *
   * @param message names the header or field, what is wrong and what would be right
   */
  public InvalidRoutingHintException(String message) {
    super(message);
  }
}
