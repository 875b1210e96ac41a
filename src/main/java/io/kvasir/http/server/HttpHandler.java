package io.kvasir.http.server;

import io.kvasir.http.Headers;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** Answers requests. Called on a virtual thread of the exchange's own, so it may block. */
@FunctionalInterface
public interface HttpHandler {
  /** The answer. An exception becomes {@link #failure}'s answer with status 500. */
  Response handle(Exchange exchange) throws Exception;

  /**
   * The answer to a request that is not served whatever its body is, null for one that may be. Called before a body is
   * awaited, so that no memory is held for it; not where the body has come with the head. Must not wait.
   *
   * @param target path and query as the client sent them
   */
  default Response.@Nullable Buffered refusal(String target, Headers headers) {
    return null;
  }

  /**
   * The answer to a request that has none from {@link #handle}: it was malformed, too long or too late, or the handler
   * threw.
   *
   * @param target path and query as the client sent them, for the error format of the API that was called; empty when
   *     they are not known
   * @param status 400, 408, 413, 414, 431, 500 …
   * @param message in plain words, fit for the client
   */
  default Response.Buffered failure(String target, int status, String message) {
    Headers.Builder headers = Headers.builder().add("Content-Type", "text/plain; charset=utf-8");
    if (status == 503) {
      headers.add("Retry-After", "1");
    }
    return new Response.Buffered(status, headers.build(), message.getBytes(StandardCharsets.UTF_8));
  }
}
