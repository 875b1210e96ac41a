/**
 * A request from its arrival to its decision: what it asks for, of which model, in whose name.
 *
 * <p>An {@link io.kvasir.gateway.request.InboundRequest} is a client's, with its caller; a {@link
 * io.kvasir.gateway.request.ProxiedRequest} that of a proxy, which sends it to its worker itself. It passes the {@link
 * io.kvasir.gateway.request.RequestStages}:
 *
 * <ol>
 *   <li>{@link io.kvasir.gateway.request.RequestParser} makes a {@link io.kvasir.gateway.request.ParsedRequest} of it:
 *       its body is read, adapters that it names become its model ({@code NamedAdapter}), it is salted where its caller
 *       shares no blocks with others ({@code CallerIsolation}), and its profile is chosen ({@code ProfileResolver}),
 *       which with the facts for plugins is its {@link io.kvasir.gateway.request.RequestContext}.
 *   <li>{@link io.kvasir.gateway.request.RequestPreparer} makes of that what can be decided on: the prompt with its
 *       tokens and blocks, what the profile's preparers find, and what the request claims when the workers are full
 *       ({@code Claims}).
 * </ol>
 *
 * <p>Large ones wait for their turn at the processors in both ({@code PreparationPermits}). Of a {@link
 * io.kvasir.gateway.request.WebSocketRequest} only the head is read.
 */
@NullMarked
package io.kvasir.gateway.request;

import org.jspecify.annotations.NullMarked;
