package io.kvasir.app.node;

import java.io.Serial;

/** A command cannot do its work; the message has the reason and the remedy. */
public final class StartException extends Exception {
  @Serial private static final long serialVersionUID = 1L;

  public StartException(String message) {
    super(message);
  }

  public StartException(String message, Throwable cause) {
    super(message, cause);
  }
}
