package io.kvasir.sim.publisher;

import java.io.IOException;
import org.zeromq.ZMQException;
import zmq.ZError;

/** A port of an engine's ZMQ sockets cannot be had; the message names the setting that asks for it. */
public final class PortException extends IOException {
  private static final long serialVersionUID = 1;

  /**
   * Why one cannot.
   *
   * @param setting such as {@code replay-port}
   * @param port its number, or {@code *} for any
   */
  public PortException(String setting, String port, String host, ZMQException cause) {
    super(
        setting + ": " + port + " cannot be bound at " + host + ": "
            + (cause.getErrorCode() == ZError.EADDRINUSE ? "it is in use" : cause.getMessage()),
        cause);
  }
}
