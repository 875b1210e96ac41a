package io.kvasir.routing;

/**
 * The load one request puts on the worker it is sent to.
 *
 * @param promptTokens tokens of the prompt, at least 0
 * @param uncachedTokens those the worker has yet to compute, as the index knows it
 * @param prefillMicros estimated microseconds to compute them
 */
public record Booking(int promptTokens, int uncachedTokens, long prefillMicros) {}
