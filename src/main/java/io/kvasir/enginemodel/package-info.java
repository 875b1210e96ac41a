/**
 * The model of an inference engine, without clock, socket or thread: a {@link io.kvasir.enginemodel.Scheduler} decides
 * which sequences share the next iteration, a {@link io.kvasir.enginemodel.PagedCache} which KV blocks they hold, of a
 * hybrid model's {@link io.kvasir.enginemodel.CacheGroup}s too, a {@link io.kvasir.enginemodel.HostTier} what host
 * memory keeps, and {@link io.kvasir.enginemodel.StepTime} how long the iteration takes. {@link
 * io.kvasir.enginemodel.EngineModel} has the speed and the memory of engines by name, from the table that the router's
 * cost model reads, too.
 *
 * <p>Its driver adds {@link io.kvasir.enginemodel.Sequence}s to the scheduler, plans an {@link
 * io.kvasir.enginemodel.EngineStep}, lets its time pass, and completes it; a {@link
 * io.kvasir.enginemodel.CacheListener} receives the cache events. There are two drivers, which know nothing of each
 * other: {@code io.kvasir.sim} runs it in real time behind HTTP, {@code io.kvasir.lab} in simulated time.
 */
@NullMarked
package io.kvasir.enginemodel;

import org.jspecify.annotations.NullMarked;
