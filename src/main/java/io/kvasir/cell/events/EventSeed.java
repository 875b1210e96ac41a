package io.kvasir.cell.events;

/**
 * What another home had learned of a worker's events beside the blocks themselves, which go on from here.
 *
 * @param salts the cache salts of the blocks; owned by the receiver
 */
public record EventSeed(EventSalts salts, EventPosition position) {}
