/**
 * Who gets the request? Five stages, Prepare, Filter, Score, Pick, Execute, over columns of candidates.
 *
 * <p>How data passes through: profiles as written (HOCON) become {@link io.kvasir.routing.Profile}s in the
 * {@link io.kvasir.routing.ProfileCompiler}, which proves them and reports all faults at once. A cell makes a
 * {@link io.kvasir.routing.Selector} of each. For a request it fills a {@link
 * io.kvasir.routing.RoutingContext} with what crossed to it (tokens, chain, session key), and the selector
 * looks at the {@link io.kvasir.routing.Fleet}, chooses, books the load and returns a {@link
 * io.kvasir.routing.Selection}: worker, alternatives, booking, prediction and reason.
 *
 * <p>Plugins (package {@code plugins}) talk only through typed slots. What prompts cost engines and how long
 * answers tend to be is in package {@code cost}. Plain Java: no actors, no HTTP, no clock of its own, so the
 * laboratory replays traces through the very classes that serve production.
 */
@NullMarked
package io.kvasir.routing;

import org.jspecify.annotations.NullMarked;
