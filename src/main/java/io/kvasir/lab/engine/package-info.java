/**
 * The engine without a clock, a socket or a thread: which sequences share the next iteration
 * ({@link io.kvasir.lab.engine.Scheduler}), which KV blocks they hold
 * ({@link io.kvasir.lab.engine.PagedCache}), what host memory keeps
 * ({@link io.kvasir.lab.engine.HostTier}) and how long the iteration takes
 * ({@link io.kvasir.lab.engine.StepTime}). A live simulated engine drives it in real time, the trace
 * laboratory in simulated time.
 */
@NullMarked
package io.kvasir.lab.engine;

import org.jspecify.annotations.NullMarked;
