/**
 * Replicas of cells on other nodes, so that a cell that loses its home goes on with what it knew. At the home a {@link
 * io.kvasir.cell.standby.ReplicaFeed} writes each change of a worker's blocks, and of a hybrid model's groups, once and
 * a {@link
 * io.kvasir.cell.standby.ReplicaLink} sends it to each replica, lost frames again; on the other node a {@link
 * io.kvasir.cell.standby.Standby} keeps the {@link io.kvasir.cell.standby.CellReplica}. {@link
 * io.kvasir.cell.standby.WarmAllocation} moves a cell to a node with a warm replica.
 */
@NullMarked
package io.kvasir.cell.standby;

import org.jspecify.annotations.NullMarked;
