/**
 * Lines between router nodes: a question of a few hundred bytes and its answer, over a TCP connection that stays open.
 * The platform's remoting passes a message through a dozen mailboxes and stages on its way there and back, each with a
 * thread to wake, which takes longer than many a decision; here it is one thread there and one back. What cannot be
 * asked over a line (none yet, it broke, the other node passes) is asked over the cluster, which knows where everything
 * is and holds what is on its way while it moves.
 *
 * <p>{@link io.kvasir.peer.PeerConnections} is a node's end of all of them: what it asks goes out, what it is asked
 * comes to its {@link io.kvasir.peer.RequestHandler}. What questions say is not known here.
 */
@NullMarked
package io.kvasir.peer;

import org.jspecify.annotations.NullMarked;
