package io.kvasir.sim.transfer;

/**
 * A finished sequence whose blocks another engine may fetch.
 *
 * @param spec the request's transfer
 * @param rank that computed it
 * @param prompt its tokens
 * @param firstTokens the generated tokens
 * @param blocks the ids of its blocks
 * @param blocksKept whether the blocks are kept for the other engine
 * @param unfinished whether the client requested more than the engine's first token
 */
public record FinishedPrefill(
    TransferSpec.Send spec, int rank, int[] prompt, int[] firstTokens, int[] blocks, boolean blocksKept,
    boolean unfinished) {}
