/**
 * LMCache: what its controller says of the caches beside engines, for the plugins {@code lmcache-occupancy}, {@code
 * lmcache-lookup} and {@code expected-cost-lmcache} of the routing room, which see this one as a {@link
 * io.kvasir.routing.CacheLayer}.
 *
 * <p>{@link io.kvasir.lmcache.LmCache} is the front. {@code Poller} asks the controller for its workers now and then
 * while anybody wants to know, {@code Instances} sums up what it said and leaves out who has stopped beating, {@code
 * WorkerMap} joins LMCache's instances to our workers and finds what does not fit. {@code Lookups} asks where a prompt
 * is held, once for all who ask the same at the same time. {@code Prefetcher} has the coordinator of its multi-process
 * mode fetch what is far from the worker that was chosen. Nothing here ever fails a request: what is not known in time
 * is not known.
 */
@NullMarked
package io.kvasir.lmcache;

import org.jspecify.annotations.NullMarked;
