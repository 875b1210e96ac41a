package io.kvasir.limits;

/**
 * An owner's answer to a {@link LeaseReport}. Immutable; crosses between nodes.
 *
 * @param quota the report's quota
 * @param granted the report's figure with what is granted now
 * @param target how much is granted in advance to a node with requests
 * @param stamp what is left
 */
public record LeaseGrant(Quota quota, long granted, long target, Stamp stamp) {}
