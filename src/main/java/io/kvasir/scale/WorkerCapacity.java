package io.kvasir.scale;

import io.kvasir.routing.cost.DecodeCost;

/**
 * What one worker of a target can do.
 *
 * @param decode the time of its decode steps
 * @param maxInFlight requests it may have in flight, at least 1
 */
public record WorkerCapacity(DecodeCost decode, int maxInFlight) {}
