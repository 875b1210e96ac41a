package io.kvasir.pools;

/**
 * A named objective of a pool's requests. Immutable.
 *
 * @param pool the pool's {@link Pool#id}
 * @param name by which requests refer to it
 * @param priority of these requests: 0 is ordinary, below it may be shed first
 */
public record Objective(String pool, String name, int priority) {}
