package io.kvasir.gateway.http;

import io.kvasir.execution.Headers;
import java.nio.charset.StandardCharsets;

/** Answers requests. Called on a virtual thread of the exchange's own, so it may block. */
@FunctionalInterface
public interface Handler {
  /** The answer. An exception becomes {@link #failure}'s answer with status 500. */
  Answer handle(Exchange exchange) throws Exception;

  /**
   * The answer to a request that got no answer from {@link #handle}: its body was too long or too late,
   * or the handler threw.
   *
   * @param target path and query as the client sent them, for the shape of the API that was called
   * @param status 408, 413, 500 …
   * @param message in plain words, fit for the client
   */
  default Answer failure(String target, int status, String message) {
    return new Answer.Whole(
        status,
        Headers.of("Content-Type", "text/plain; charset=utf-8"),
        message.getBytes(StandardCharsets.UTF_8));
  }
}
