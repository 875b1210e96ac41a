/**
 * The front door's transport: sockets, Pekko HTTP's parser and renderer, and nothing of any API.
 *
 * <p>Connections are limited in all and for each client address. What a client sends is framed and checked before Pekko
 * sees it: a head is handed to its parser whole, the next request when the answer to the one before has ended; a plain
 * body that has not come whole with its head goes past Pekko. Heads, bodies and writes have deadlines for progress as
 * well as in total. What cannot be accepted is answered in the
 * handler's words, and the connection closed.
 *
 * <p>{@link io.kvasir.http.server.HttpServer} accepts connections and gives each request, its body
 * read whole, to the {@link io.kvasir.http.server.HttpHandler} on a virtual thread of the exchange's own. That runs on
 * the thread that reads the client's connection where the request is short, and no other thread is woken for it.
 * What the handler returns is an {@link io.kvasir.http.server.Response}: either whole bytes, or a head
 * and a {@link io.kvasir.http.StreamingBody} that writes the body as it comes;
 * with status 101 the client's connection leaves HTTP and is the body's from then on. That a client disconnects
 * is noticed at once, also before the first byte: see {@link io.kvasir.http.server.Exchange#cancellation}.
 * Bodies, and what handlers read from them, are booked in the server's {@link io.kvasir.http.MemoryBudget}.
 */
@NullMarked
package io.kvasir.http.server;

import org.jspecify.annotations.NullMarked;
