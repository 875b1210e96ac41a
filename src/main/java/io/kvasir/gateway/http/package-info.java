/**
 * The front door's transport: sockets, Pekko HTTP's parser and renderer, and nothing of any API.
 *
 * <p>{@link io.kvasir.gateway.http.HttpServer} accepts connections and gives each request, its body
 * read whole, to the {@link io.kvasir.gateway.http.Handler} on a virtual thread of the exchange's own.
 * What the handler returns is an {@link io.kvasir.gateway.http.Answer}: either whole bytes, or a head
 * and a {@link io.kvasir.gateway.http.Relay} that writes the body as it comes. A client that leaves is
 * noticed at once, also before the first byte: see {@link io.kvasir.gateway.http.Exchange#onClientGone}.
 */
@NullMarked
package io.kvasir.gateway.http;

import org.jspecify.annotations.NullMarked;
