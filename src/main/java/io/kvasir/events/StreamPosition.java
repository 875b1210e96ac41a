package io.kvasir.events;

/**
 * The position up to which a worker's stream has been applied, after which another subscription can resume.
 *
 * @param sequence of the last numbered message, {@link KvBatch#UNSEQUENCED} before the first
 * @param publishedAt when that was published, microseconds by the engine's clock; 0 when unknown
 */
public record StreamPosition(long sequence, long publishedAt) {}
