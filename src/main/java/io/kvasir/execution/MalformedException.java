package io.kvasir.execution;

import java.io.IOException;
import java.io.Serial;

/** What a pod sent is not HTTP/1.1. */
final class MalformedException extends IOException {
  @Serial private static final long serialVersionUID = 1L;

  MalformedException(String message) {
    super(message);
  }
}
