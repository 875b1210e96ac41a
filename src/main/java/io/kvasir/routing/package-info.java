/**
 * Who gets the request? Five stages, Prepare, Filter, Score, Pick, Execute, over columns of candidates.
 *
 * <p>How data passes through: profiles as written (HOCON) become {@link io.kvasir.routing.Profile}s in the
 * {@link io.kvasir.routing.ProfileCompiler}, which proves them and reports all faults at once. {@link
 * io.kvasir.routing.LiveProfiles} are those in service, with the {@link io.kvasir.routing.ProfileChoice} among them,
 * and are replaced by a reload. Where a request arrives its profile's preparers look at its {@link
 * io.kvasir.routing.RequestFacts}; what they fill for later stages crosses to its cell as {@link
 * io.kvasir.routing.PreparedSlots}. A cell makes a {@link io.kvasir.routing.Selector} of each profile; for a request it
 * fills a {@link io.kvasir.routing.RoutingContext} with what crossed (tokens, chain, keys), and the selector looks at
 * the {@link io.kvasir.routing.Fleet}, chooses, books the load and returns a {@link io.kvasir.routing.Selection}:
 * worker, alternatives, booking, prediction and reason.
 *
 * <p>Plugins (package {@code plugins}, and a {@link io.kvasir.routing.PluginProvider}'s from a jar) talk only through
 * typed slots. What prompts cost engines and how long
 * answers tend to be is in package {@code cost}. Plain Java: no actors, no HTTP, no clock of its own, so the
 * laboratory replays traces through the very classes that serve production.
 */
@NullMarked
package io.kvasir.routing;

import org.jspecify.annotations.NullMarked;
