/**
 * Copies of cells on other nodes, so that a cell that loses its home goes on with what it knew, and where cells are. At
 * the home a {@link io.kvasir.cell.standby.ReplicaFeed} writes each change of a worker's blocks once and a {@link
 * io.kvasir.cell.standby.ReplicaLink} carries it to each copy, with what is lost on the way sent again; there a {@link
 * io.kvasir.cell.standby.Standby} keeps the {@link io.kvasir.cell.standby.CellReplica}. The {@link
 * io.kvasir.cell.directory.CellNodesKeeper} has every node know where homes and copies are, and {@link
 * io.kvasir.cell.standby.WarmAllocation} sends a cell where it is warm.
 */
@NullMarked
package io.kvasir.cell.standby;

import org.jspecify.annotations.NullMarked;
