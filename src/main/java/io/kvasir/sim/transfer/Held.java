package io.kvasir.sim.transfer;

/**
 * Blocks kept for another engine.
 *
 * @param tokens what is in them
 * @param firstTokens what was generated after them
 * @param blocks their ids
 * @param free gives them back; called at most once, on any thread
 */
public record Held(int[] tokens, int[] firstTokens, int[] blocks, Runnable free) {}
