/**
 * LMCache's control plane, both sides of it: {@link io.kvasir.sim.lmcache.CacheWorker} reports to a controller what a
 * simulated engine keeps in host memory, and {@link io.kvasir.sim.lmcache.CacheController} stands in for the controller
 * where there is none. Both exchange the real one's messages (LMCache 0.5) over ZMQ, so either can be exchanged for it.
 * {@link io.kvasir.sim.lmcache.CacheCoordinator} and, at the engine, {@link io.kvasir.sim.lmcache.CoordinatorMember}
 * and {@link io.kvasir.sim.lmcache.CacheEventReporter} are the two sides of its multi-process mode, over HTTP.
 */
@NullMarked
package io.kvasir.sim.lmcache;

import org.jspecify.annotations.NullMarked;
