/**
 * What is asked of a simulated engine beside answers, by routers, proxies and those who test them. {@link
 * io.kvasir.sim.operations.OperationsApi} has the paths over HTTP: health, metrics and load ({@code RankLoads}), caches
 * to be reset, LMCache's prefetches ({@code PrefetchApi}), the pages on which the engine tells what it is ({@link
 * io.kvasir.sim.operations.IdentityPages}), and those that make it misbehave ({@link
 * io.kvasir.sim.operations.ControlApi}, which does it by {@link io.kvasir.sim.operations.EngineControls}).
 *
 * <p>Two engines tell of themselves on ports of their own, too: vLLM over gRPC ({@link
 * io.kvasir.sim.operations.ControlServer}), and SGLang publishes its load ({@link
 * io.kvasir.sim.operations.LoadPublisher}).
 */
@NullMarked
package io.kvasir.sim.operations;

import org.jspecify.annotations.NullMarked;
