/**
 * The model of an inference engine, without clock, socket or thread: a {@link io.kvasir.lab.engine.Scheduler} decides
 * which sequences share the next iteration, a {@link io.kvasir.lab.engine.PagedCache} which KV blocks they hold, of a
 * hybrid model's {@link io.kvasir.lab.engine.CacheGroup}s too, a
 * {@link io.kvasir.lab.engine.HostTier} what host memory keeps, and {@link io.kvasir.lab.engine.StepTime} how long the
 * iteration takes.
 *
 * <p>Its driver adds {@link io.kvasir.lab.engine.Sequence}s to the scheduler, plans an
 * {@link io.kvasir.lab.engine.EngineStep}, lets its time pass, and completes it; a
 * {@link io.kvasir.lab.engine.CacheListener} receives the cache events. The engine simulator drives it in real time,
 * the trace laboratory in simulated time.
 */
@NullMarked
package io.kvasir.lab.engine;

import org.jspecify.annotations.NullMarked;
