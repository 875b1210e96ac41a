package io.kvasir.sim.transfer;

/**
 * Blocks kept for another engine.
 *
 * @param tokens what is in them
 * @param firstTokens what was generated after them
 * @param blocks their ids
 * @param release gives them back; called at most once, on any thread
 */
public record LeasedBlocks(int[] tokens, int[] firstTokens, int[] blocks, Runnable release) {}
