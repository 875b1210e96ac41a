package io.kvasir.http.server;

import org.jspecify.annotations.Nullable;

/**
 * Why a request has no answer from its {@link HttpHandler}: it was malformed, too long or too late, the server had no
 * room for it, or the handler threw.
 *
 * @param status of the answer: 400, 408, 413, 414, 431, 500 …
 * @param message in plain words, fit for the client
 * @param limit the limit of the server's that was reached; null where the request itself is at fault, or something
 *     failed
 */
public record RequestFailure(int status, String message, @Nullable ReachedLimit limit) {
  /** A failure for which no limit is to blame. */
  public RequestFailure(int status, String message) {
    this(status, message, null);
  }
}
