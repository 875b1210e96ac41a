/**
 * What an engine's events mean for the index. An {@link io.kvasir.cell.events.EventApplier} is the one writer of a
 * worker's slot: {@code StreamTracker} knows how far the events have come and whether some are missing, {@code
 * EventHashing} makes chain hashes of what is stored, {@code EngineBlocks} cuts larger blocks as prompts are, {@code
 * EventOrphans} keeps what came before its parent, {@link io.kvasir.cell.events.EventSalts} knows which keys are under
 * a cache salt, {@code ModelGroups} which of a model's cache groups makes the prefix, {@link
 * io.kvasir.cell.events.CacheGroups} what a hybrid model's windows and states hold beside it, {@link
 * io.kvasir.cell.events.ChunkHints} what a cache beside the engine may hold. Plain Java: no actors, no clock.
 *
 * <p>How far a worker's events have come has several answers, each for another reader:
 *
 * <table>
 * <caption>Positions and states of a worker's events</caption>
 * <tr><td>{@link io.kvasir.events.StreamPosition}<td>the last message of a stream: a subscription resumes after it
 * <tr><td>{@code StreamTracker}<td>the applier's own notes of its stream: position, gaps, connection
 * <tr><td>{@code EventCounts}<td>the applier's own counts of what has become of events
 * <tr><td>{@link io.kvasir.cell.events.EventState}<td>what decisions and people read of both, after each batch
 * <tr><td>{@link io.kvasir.cell.events.AppliedPosition}<td>what replicas receive after each batch: the position, and
 * what was learned of the stream
 * <tr><td>{@link io.kvasir.cell.events.EventCheckpoint}<td>what the next home's applier goes on from beside blocks:
 * the position, salts and groups
 * <tr><td>{@code worker.EventStreamHealth}<td>how late messages are, and what went wrong with the stream: for people
 * <tr><td>{@code standby.ReplicaLag}<td>how far a replica is behind its home
 * </table>
 */
@NullMarked
package io.kvasir.cell.events;

import org.jspecify.annotations.NullMarked;
