package io.kvasir.limits;

/**
 * How much of a quota was left at its owner at a moment. Immutable.
 *
 * @param owner the owner that says so: each that takes over has another id
 * @param asOf when, in milliseconds since the epoch
 * @param level what was not leased then; below 0 when more had been used than there was
 */
public record Stamp(String owner, long asOf, long level) {}
