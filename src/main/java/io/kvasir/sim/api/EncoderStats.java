package io.kvasir.sim.api;

/**
 * The images and sounds in an engine's requests.
 *
 * @param loaded taken from an encoder
 * @param encoded encoded by itself
 */
public record EncoderStats(long loaded, long encoded) {}
