package io.kvasir.sim.transfer;

/**
 * The blocks fetched from another engine.
 *
 * @param tokens whose keys and values were fetched
 * @param firstTokens the tokens that engine generated after them, where its family transfers these
 */
public record FetchedBlocks(int[] tokens, int[] firstTokens) {}
