package io.kvasir.answers;

import java.io.Serial;

/** The store cannot be reached, so the operation has not been done. */
public final class StoreUnavailableException extends Exception {
  @Serial private static final long serialVersionUID = 1L;

  StoreUnavailableException(String message, Throwable cause) {
    super(message, cause);
  }
}
