/**
 * The cache events that a simulated engine publishes: {@link io.kvasir.sim.publisher.CacheEvent}s,
 * collected over one engine step, encoded as the engine of choice would, numbered and sent over ZMQ, and
 * kept for replay; or, as a snapshot, summed up. Written against the engines' formats and their golden bytes,
 * and sharing no code with the room that decodes them, so that one cannot hide the other's mistakes.
 */
@NullMarked
package io.kvasir.sim.publisher;

import org.jspecify.annotations.NullMarked;
