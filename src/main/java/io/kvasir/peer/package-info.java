/**
 * Connections between router nodes: a request of a few hundred bytes and its reply, over TCP connections that stay
 * open. The platform's remoting passes a message through a dozen mailboxes and stages on its way there and back, each
 * with a thread to wake, which takes longer than many a decision; here it is one thread there and one back. What cannot
 * be sent this way (there is no connection yet, it broke, the other node has no reply) goes over the cluster, which
 * knows where everything is and keeps messages while it moves.
 *
 * <p>{@link io.kvasir.peer.PeerConnections} is a node's end of all of them. Requests go out through a {@code
 * PeerConnection} for each peer, on which each waits for its own reply. They come in through the {@code PeerServer}: an
 * {@code InboundConnection} for each peer reads them and has the node's {@link io.kvasir.peer.RequestHandler} reply;
 * one that takes long delays no other, and the {@code Handshakes} bound those who have not
 * shown that they are peers. {@code FrameCodec} is the protocol. What requests mean is not known here.
 *
 * <p>The configuration calls the port of these connections {@code cluster.line-port}.
 */
@NullMarked
package io.kvasir.peer;

import org.jspecify.annotations.NullMarked;
