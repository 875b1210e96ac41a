/**
 * What everything that speaks HTTP shares: header fields, the sink that a body's bytes are written to, {@link
 * io.kvasir.http.HttpCalls} for short calls to other services, and the {@link io.kvasir.http.CircuitBreaker} in front
 * of services that fail. {@code http.client} has the connections to pods, {@code http.server} the server that clients
 * of the router connect to.
 */
@NullMarked
package io.kvasir.http;

import org.jspecify.annotations.NullMarked;
