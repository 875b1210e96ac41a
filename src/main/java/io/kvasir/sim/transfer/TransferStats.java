package io.kvasir.sim.transfer;

/**
 * Counts of an engine's KV transfers so far.
 *
 * @param held sequences whose blocks are kept for others now
 * @param sent sequences whose blocks were copied by others
 * @param received sequences whose first tokens were copied from others
 * @param ignored requests whose transfer parameters were incomplete, so that they were computed without a transfer
 * @param failed transfers that failed
 * @param recomputed of those, the recomputed ones
 * @param expired sequences whose blocks expired before they were fetched
 * @param beats heartbeats received
 */
public record TransferStats(
    int held,
    long sent,
    long received,
    long ignored,
    long failed,
    long recomputed,
    long expired,
    long beats) {}
