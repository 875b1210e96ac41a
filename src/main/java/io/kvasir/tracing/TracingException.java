package io.kvasir.tracing;

import java.io.Serial;

/** Settings or variables by which traces cannot be exported. The message has the variable and the remedy. */
public final class TracingException extends Exception {
  @Serial private static final long serialVersionUID = 1;

  TracingException(String message) {
    super(message);
  }

  TracingException(String message, Throwable cause) {
    super(message, cause);
  }
}
