/**
 * Copies of cells on other nodes, so that a cell that loses its home goes on with what it knew, and where cells are. At
 * the home a {@link io.kvasir.cell.standby.CopyFeed} writes each change of a worker's blocks once and a {@link
 * io.kvasir.cell.standby.CopyLink} carries it to each copy, with what is lost on the way sent again; there a {@link
 * io.kvasir.cell.standby.Standby} keeps the {@link io.kvasir.cell.standby.CellCopy}. The {@link
 * io.kvasir.cell.standby.CellNodesKeeper} has every node know where homes and copies are, and {@link
 * io.kvasir.cell.standby.WarmAllocation} sends a cell where it is warm.
 */
@NullMarked
package io.kvasir.cell.standby;

import org.jspecify.annotations.NullMarked;
