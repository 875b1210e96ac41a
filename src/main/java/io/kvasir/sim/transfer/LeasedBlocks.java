package io.kvasir.sim.transfer;

/**
 * Blocks kept for another engine.
 *
 * @param tokens the tokens in them
 * @param firstTokens the tokens generated after them
 * @param blocks their ids
 * @param release frees them; called at most once, on any thread
 */
public record LeasedBlocks(int[] tokens, int[] firstTokens, int[] blocks, Runnable release) {}
