package io.kvasir.events;

/**
 * How far a worker's stream has been applied: what another subscription needs to go on after it.
 *
 * @param sequence of the last numbered message, {@link KvBatch#UNSEQUENCED} before the first
 * @param publishedAt when that was sent, microseconds by the engine's clock; 0 when unknown
 */
public record StreamPosition(long sequence, long publishedAt) {}
