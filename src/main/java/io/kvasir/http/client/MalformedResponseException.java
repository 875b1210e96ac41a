package io.kvasir.http.client;

import java.io.IOException;
import java.io.Serial;

/** What a pod sent is not HTTP/1.1. */
final class MalformedResponseException extends IOException {
  @Serial private static final long serialVersionUID = 1L;

  MalformedResponseException(String message) {
    super(message);
  }
}
