package io.kvasir.app;

import java.io.Serial;

/** A command cannot do its work; the message says why and what to do. */
final class StartException extends Exception {
  @Serial private static final long serialVersionUID = 1L;

  StartException(String message) {
    super(message);
  }

  StartException(String message, Throwable cause) {
    super(message, cause);
  }
}
