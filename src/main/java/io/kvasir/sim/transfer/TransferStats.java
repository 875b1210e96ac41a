package io.kvasir.sim.transfer;

/**
 * What an engine has had to do with others so far.
 *
 * @param held sequences whose blocks are kept for others now
 * @param sent sequences whose blocks were copied by others
 * @param received sequences whose first tokens were copied from others
 * @param ignored requests whose transfer parameters were incomplete, so that they were computed here
 * @param failed transfers that failed
 * @param recomputed of those, the ones made good by computing
 * @param expired sequences whose blocks were given up because nobody fetched them in time
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
