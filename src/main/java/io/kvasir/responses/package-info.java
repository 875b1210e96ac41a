/**
 * Which worker has which stored response: engines keep them in one process's memory, so what builds on one, reads or
 * deletes it must go back there, whichever node it comes to.
 *
 * <p>A node remembers the responses that it has relayed in its {@link io.kvasir.responses.StoredResponses}, and has two
 * others remember each one, too, chosen by the response's id: one that is killed takes no knowledge along. Who is asked
 * for a response that it does not know asks the other nodes once and remembers the answer. They find each other by the
 * receptionist, and their messages are {@code ResponseMessage}s to each node's {@code ResponseKeeper}.
 */
@NullMarked
package io.kvasir.responses;

import org.jspecify.annotations.NullMarked;
