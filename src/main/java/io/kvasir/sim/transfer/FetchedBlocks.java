package io.kvasir.sim.transfer;

/**
 * What came from another engine.
 *
 * @param tokens whose keys and values came
 * @param firstTokens what that engine generated after them, when its family hands that over
 */
public record FetchedBlocks(int[] tokens, int[] firstTokens) {}
