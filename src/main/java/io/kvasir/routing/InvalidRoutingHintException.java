package io.kvasir.routing;

/** Thrown when a routing hint of the client is invalid; the message is meant for the client. */
public final class InvalidRoutingHintException extends RuntimeException {
  private static final long serialVersionUID = 1;

  /**
   * An exception with a message for the client.
   *
   * @param message names the header or field, the fault and the remedy
   */
  public InvalidRoutingHintException(String message) {
    super(message);
  }
}
