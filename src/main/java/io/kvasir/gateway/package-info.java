/**
 * The APIs that clients speak with the router: OpenAI's and Anthropic's, as engines serve them.
 *
 * <p>{@link io.kvasir.gateway.Gateway} is the HTTP server's handler. It finds the handler of a path: {@code
 * InferenceHandler} for everything that a worker answers, {@code RouteHandler} for dry runs, {@code ModelsHandler},
 * {@code EventsHandler} for cache events that engines push, and {@code /health}. Before that it has the {@link
 * io.kvasir.access.Authenticator} find out whose request it is, already when only the head has come.
 *
 * <p>A request that a worker is to answer passes these rooms, of which each knows only those named before it:
 *
 * <ol>
 *   <li>{@code gateway.error}: what goes wrong, anywhere, becomes an answer in the API's format there.
 *   <li>{@code gateway.body}: its body is read.
 *   <li>{@code gateway.forwarding}: what of it an engine gets to see.
 *   <li>{@code gateway.request}: it is read and prepared for its decision.
 *   <li>{@code gateway.keepalive}: its stream is kept from being cut while it is silent (knows of errors alone).
 *   <li>{@code gateway.traffic}: it is added to its tenant's sums (knows none of the others).
 * </ol>
 *
 * <p>Here it is held against its caller's limits by {@code CallerLimits}, looked up in the response cache by {@code
 * CachedAnswers}, and executed by {@link io.kvasir.execution.dispatch.Dispatcher}. {@code RequestTelemetry} records it
 * in metrics, traces and log, to its {@code RequestEnd}. {@code gateway.admin} is the API for administrators.
 */
@NullMarked
package io.kvasir.gateway;

import org.jspecify.annotations.NullMarked;
