/**
 * The APIs that clients speak with the router: OpenAI's and Anthropic's, as engines serve them.
 *
 * <p>{@link io.kvasir.gateway.Gateway} is the HTTP server's handler. It finds the handler of a path: {@code
 * InferenceHandler} for everything that a worker answers, {@code RouteHandler} for dry runs, {@code ModelsHandler},
 * {@code EventsHandler} for cache events that engines push, and {@code /health}. Before that it has the {@link
 * io.kvasir.access.Authenticator} find out whose request it is, already when only the head has come; an {@code
 * InboundRequest} carries the caller along. A request that a worker is to answer is read by {@code RequestParser}
 * (with {@code CallerIsolation}, which salts it where its caller does not share blocks with everybody), prepared for
 * its decision by {@code RequestPreparer}, held against its caller's limits by {@code CallerLimits}, looked up in
 * the response cache by {@code CachedAnswers}, and executed by {@link io.kvasir.execution.dispatch.Dispatcher};
 * {@code KeepAlive} keeps a silent stream from being cut on the way back. What of a request an engine gets to see is
 * in {@code ForwardingSettings}: the {@code ServedPaths}, by their {@code RequestTarget}s in normal form, without
 * {@code ReservedFields}. Of a {@code WebSocketRequest} only the head is read. What goes wrong becomes an answer in
 * the API's error format in one place, {@code ApiBoundary}; {@code RequestTelemetry} records each request in metrics
 * and log.
 */
@NullMarked
package io.kvasir.gateway;

import org.jspecify.annotations.NullMarked;
