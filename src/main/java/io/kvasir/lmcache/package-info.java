/**
 * LMCache: what the caches beside engines hold, for the plugins {@code lmcache-occupancy}, {@code lmcache-lookup} and
 * {@code expected-cost-lmcache} of the routing room, which see this one as a {@link io.kvasir.routing.CacheLayer}.
 *
 * <p>{@link io.kvasir.lmcache.LmCache} is the front. What is asked is a {@code LookupSource}: the {@code Controller},
 * or the {@code KeyDirectory} of the coordinator of LMCache's multi-process mode. A {@code Poller} polls it for its
 * workers while requests need the key counts; {@code Instances} sums the rows up by instance and leaves out those
 * without heartbeats; {@code WorkerMap} joins LMCache's instances to our workers and finds what does not match. {@code
 * Lookups} finds which instances hold a prompt, with one call for all requests that need the same lookup at the same
 * time. {@code Prefetcher} makes the {@code Coordinator} fetch blocks that are far from the chosen worker.
 *
 * <p>Nothing here ever fails a request: what is not known in time is unknown. All services are called through a {@link
 * io.kvasir.http.CircuitBreaker}.
 */
@NullMarked
package io.kvasir.lmcache;

import org.jspecify.annotations.NullMarked;
