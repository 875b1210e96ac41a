/**
 * What an engine's events mean for the index. An {@link io.kvasir.cell.events.EventApplier} is the one writer of a
 * worker's slot: {@code StreamProgress} knows how far the events have come and whether some are missing, {@code
 * EventHashing} makes chain hashes of what is stored, {@code EngineBlocks} cuts larger blocks as prompts are, {@code
 * EventOrphans} keeps what came before its parent, {@link io.kvasir.cell.events.EventSalts} knows which keys are under
 * a cache salt, {@code ModelGroups} which of a model's cache groups makes the prefix, {@link
 * io.kvasir.cell.events.CacheGroups} what a hybrid model's windows and states hold beside it, {@link
 * io.kvasir.cell.events.ChunkHints} what a cache beside the engine may hold. How far it has come is its {@link
 * io.kvasir.cell.events.EventState}; an {@link io.kvasir.cell.events.EventSeed} is what another applier needs to go on.
 * Plain Java: no actors, no clock.
 */
@NullMarked
package io.kvasir.cell.events;

import org.jspecify.annotations.NullMarked;
