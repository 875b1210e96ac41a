package io.kvasir.gateway.admin;

import io.kvasir.routing.Role;
import java.util.Map;
import java.util.function.ToIntFunction;

/**
 * What a pod's description may leave out.
 *
 * @param role what its workers may do
 * @param ranks its data-parallel ranks
 * @param maxRanks the most it may have: the slots of a cell
 * @param blockSize tokens in a KV block, by the pod's first model
 * @param maxInFlight requests each worker may have in flight
 * @param engine name of its latency coefficients
 * @param labels for filters and locality
 */
public record PodDefaults(
    Role role,
    int ranks,
    int maxRanks,
    ToIntFunction<String> blockSize,
    int maxInFlight,
    String engine,
    Map<String, String> labels) {}
