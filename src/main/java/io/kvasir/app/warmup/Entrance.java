package io.kvasir.app.warmup;

import org.jspecify.annotations.Nullable;

/** A way by which requests reach a router. Thread-safe. */
@FunctionalInterface
public interface Entrance {
  /**
   * Sends a request and reads its answer to the end.
   *
   * @param path with which API it speaks
   * @return why that failed, null when it was answered with 200
   */
  @Nullable String post(String path, byte[] body);
}
