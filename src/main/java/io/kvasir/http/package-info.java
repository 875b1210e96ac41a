/**
 * What everything that speaks HTTP shares.
 *
 * <p>A body's bytes go to a {@link io.kvasir.http.ByteSink}; a {@link io.kvasir.http.StreamingBody} is one that has not
 * been written yet, and is either run or abandoned. A client that disconnects cancels a
 * {@link io.kvasir.http.Cancellation}, which ends the work for it. {@link io.kvasir.http.SseScanner} splits event
 * streams, {@link io.kvasir.http.ApiPath} is the table of the APIs' paths. {@link io.kvasir.http.HttpCalls} makes short
 * calls to other services, {@link io.kvasir.http.CircuitBreaker} spares those that fail. A {@link
 * io.kvasir.http.ChannelLoop} reads many sockets on one thread, which a {@link io.kvasir.http.DeferringSink} never
 * keeps waiting; what a short request does is done on that thread, too, by a {@link io.kvasir.http.ConnectionThread},
 * which leaves it where it waits for anything but the network. A connection that has left HTTP for a WebSocket is a
 * {@link io.kvasir.http.DuplexSink}, whose frames {@link io.kvasir.http.WebSocketFrames} follows. {@code http.client}
 * has the connections to pods, {@code http.server} those from clients.
 */
@NullMarked
package io.kvasir.http;

import org.jspecify.annotations.NullMarked;
