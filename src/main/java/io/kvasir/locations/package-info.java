/**
 * Where later requests have to come back to: the worker that has a stored response, as engines keep them in one
 * process's memory ({@link io.kvasir.locations.StoredResponses}), and the workers of a session, whose cells may find a
 * new home meanwhile ({@link io.kvasir.locations.Sessions}); whichever node a request comes to.
 *
 * <p>Both are {@code SharedLocations}: a node remembers what it has relayed, and has two others remember it, too,
 * chosen by the name: one that is killed takes no knowledge along. A node that does not know something asks those that
 * should, and remembers the answer. The nodes find each other by the receptionist, and their messages are {@code
 * LocationMessage}s to each node's {@code LocationKeeper}.
 */
@NullMarked
package io.kvasir.locations;

import org.jspecify.annotations.NullMarked;
