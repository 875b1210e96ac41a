package io.kvasir.sim;

/**
 * Images and sounds an engine has met.
 *
 * @param loaded taken from an encoder
 * @param encoded encoded by itself
 */
public record EncoderStats(long loaded, long encoded) {}
