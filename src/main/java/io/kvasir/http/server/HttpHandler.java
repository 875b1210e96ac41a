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
   */
  default Response.@Nullable Buffered refusal(ArrivedRequest request) {
    return null;
  }

  /** The answer to a request that has none from {@link #handle}. */
  default Response.Buffered failure(ArrivedRequest request, RequestFailure why) {
    Headers.Builder headers = Headers.builder().add("Content-Type", "text/plain; charset=utf-8");
    if (why.status() == 503) {
      headers.add("Retry-After", "1");
    }
    return new Response.Buffered(why.status(), headers.build(), why.message().getBytes(StandardCharsets.UTF_8));
  }

  /** Notes that a client's connection was closed without an answer because this limit was reached. Must not wait. */
  default void unanswered(ReachedLimit limit) {}
}
