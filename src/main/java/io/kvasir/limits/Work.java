package io.kvasir.limits;

/**
 * The work that a request was, in tokens, each 0 or more. Immutable.
 *
 * @param uncached of the prompt, computed
 * @param cached of the prompt, found in the engine's cache
 * @param output generated
 */
public record Work(long uncached, long cached, long output) {}
