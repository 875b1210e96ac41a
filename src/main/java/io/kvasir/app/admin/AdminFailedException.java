package io.kvasir.app.admin;

import java.io.Serial;
import org.jspecify.annotations.Nullable;

/** A request to a router's admin API failed; the message has the reason and the remedy. */
public final class AdminFailedException extends Exception {
  @Serial private static final long serialVersionUID = 1L;

  AdminFailedException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }

  AdminFailedException(String message) {
    super(message);
  }
}
