package io.kvasir.sim.core;

/**
 * What an engine is doing.
 *
 * @param running sequences admitted and not ended
 * @param waiting sequences waiting for admission
 * @param queriedTokens tokens of all sequences admitted so far
 * @param hitTokens of those, the ones found in the cache
 * @param hostHitTokens and the ones found in host memory only
 */
public record EngineStats(int running, int waiting, long queriedTokens, long hitTokens, long hostHitTokens) {}
