/**
 * Routing: which workers serve a request. A profile has four stages of plugins, prepare, filter, score and pick, which
 * work on columns of candidates, and an execution policy.
 *
 * <p>How data passes through: the {@link io.kvasir.routing.ProfileCompiler} compiles profiles from the configuration
 * (HOCON) into {@link io.kvasir.routing.Profile}s and reports all their faults at once. {@link
 * io.kvasir.routing.LiveProfiles} are those in service, with the {@link io.kvasir.routing.ProfileChoice} among them; a
 * reload replaces them. On the node where a request arrives its profile's preparers read the {@link
 * io.kvasir.routing.RequestFacts} and fill slots, which are transferred to the request's cell as {@link
 * io.kvasir.routing.PreparedSlots}. The cell has a {@link io.kvasir.routing.Selector} of each profile for its {@link
 * io.kvasir.routing.Fleet} of workers. For a request it fills a {@link io.kvasir.routing.RoutingContext} with tokens,
 * chain and the transferred slots; a {@link io.kvasir.routing.PlanningSession} runs the profile's {@link
 * io.kvasir.routing.Workflow}, whose selectors each choose a worker, book its load and return a {@link
 * io.kvasir.routing.Selection}; the result is a {@link io.kvasir.routing.RoutingPlan} with a reason.
 *
 * <p>Plugins (package {@code plugins}, and those of a {@link io.kvasir.routing.PluginProvider} in a jar) exchange
 * values only through typed {@link io.kvasir.routing.Slot}s. Their interfaces are public, but may change until version
 * 1.0: in
 * 0.1.0 the answer of a {@link io.kvasir.routing.CacheLayer} and the slots of locations and semantic clusters have
 * types of their own instead of texts, and time comes from an {@link io.kvasir.time.NanoClock}. The costs of prompts
 * and answers are in package {@code cost}. Plain Java: no actors, no HTTP, and time is passed in, so that the
 * laboratory replays traces through the classes that serve production.
 */
@NullMarked
package io.kvasir.routing;

import org.jspecify.annotations.NullMarked;
