package io.kvasir.sim.transfer;

/**
 * A sequence that ended and whose blocks are kept.
 *
 * @param spec as the request said
 * @param rank where it was computed
 * @param prompt its tokens
 * @param firstTokens what was generated
 * @param blocks the ids of its blocks
 * @param blocksKept whether they are
 * @param unfinished whether the client wanted more than the engine's first token
 */
public record PrefillResult(
    TransferSpec.Send spec, int rank, int[] prompt, int[] firstTokens, int[] blocks, boolean blocksKept,
    boolean unfinished) {}
