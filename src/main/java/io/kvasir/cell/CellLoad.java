package io.kvasir.cell;

/**
 * The workers of a cell that serve one model, and their load, at a moment when none of them could be chosen.
 *
 * @param workers all of them
 * @param routable those that may be given requests: healthy, and not draining
 * @param inFlight requests in flight at those
 * @param maxInFlight how many those may have
 */
public record CellLoad(int workers, int routable, int inFlight, int maxInFlight) {}
