package io.kvasir.limits;

/**
 * Marks what crosses between router nodes; bound to Jackson's CBOR in the configuration. Fields may be added: a node
 * ignores those it does not know and sees null or zero for those it misses.
 */
public interface LimitMessage {}
