package io.kvasir.picker;

import io.kvasir.gateway.Gateway;
import io.kvasir.http.Headers;
import io.kvasir.http.RequestMemory;
import io.kvasir.http.server.ArrivedRequest;
import io.kvasir.http.server.ReachedLimit;
import io.kvasir.http.server.RequestFailure;
import io.kvasir.http.server.Response;
import java.net.InetAddress;
import org.jspecify.annotations.Nullable;

/**
 * Answers of the picker's own, to requests that reach no worker. Their {@code head} is null where that has not come.
 *
 * @param maxBodyBytes the longest body
 * @param keys whether requests need keys
 */
record OwnAnswers(Gateway gateway, int maxBodyBytes, boolean keys) {
  /** To a request that is refused by its head alone; null where it is not. */
  Response.@Nullable Buffered refusal(ProxyHead head) {
    return keys && head.path() != null ? gateway.refusal(arrived(head)) : null;
  }

  /** To a request whose body is so long, or longer. */
  Response.Buffered tooLong(@Nullable ProxyHead head, long length) {
    return failure(
        head, 413, "the request's body is longer than the limit of %d bytes".formatted(maxBodyBytes),
        new ReachedLimit(ReachedLimit.Kind.BODY_LENGTH, length, maxBodyBytes));
  }

  /** To a request for whose body there is no memory. */
  Response.Buffered noMemory(@Nullable ProxyHead head, RequestMemory.Shortage shortage) {
    return failure(
        head, 503, "this router has no memory left for the request's body now; send it again in a moment",
        ReachedLimit.of(shortage));
  }

  /** To a request that still waits as the router stops. */
  Response.Buffered stopping(@Nullable ProxyHead head) {
    return failure(
        head, 503, "this router is shutting down; send the request again, it will reach another",
        ReachedLimit.STOPPING);
  }

  /** To a request that the router has failed on. */
  Response.Buffered failed(@Nullable ProxyHead head) {
    return failure(head, 500, "the router failed to handle this request", null);
  }

  private Response.Buffered failure(
      @Nullable ProxyHead head, int status, String message, @Nullable ReachedLimit limit) {
    return gateway.proxiedFailure(arrived(head), new RequestFailure(status, message, limit));
  }

  private static ArrivedRequest arrived(@Nullable ProxyHead head) {
    return head == null
        ? new ArrivedRequest("", "", Headers.EMPTY, InetAddress.getLoopbackAddress())
        : new ArrivedRequest(
            head.method(), head.path() == null ? "" : head.path(), head.headers(),
            ProxyExchange.client(head.headers()));
  }
}
