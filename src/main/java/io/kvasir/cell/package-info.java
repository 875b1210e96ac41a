/**
 * What the other rooms see of cells. A cell is up to 256 workers that serve one model group, which has as many cells as
 * its workers need. {@link io.kvasir.cell.Cells} is a node's way to all of them: a {@link
 * io.kvasir.cell.DecisionRequest} goes in, a {@link io.kvasir.cell.Decision} comes out, and with it a {@link
 * io.kvasir.cell.Reservation} for every worker chosen, which whoever holds it closes with an {@link
 * io.kvasir.cell.Outcome}.
 *
 * <p>The rooms within, from below to above, each of which sees only those before it: {@code directory} (which pods
 * there are, and in which cell), {@code events} (what engines tell, applied to the index), {@code worker} (how one
 * worker is: load, health, truth), {@code standby} (copies on other nodes, and where cells are), {@code ledger} (what
 * is booked, by whom and until when), {@code view} (deciding, on the threads of the cell's node), {@code home} (the
 * cell's actors) and {@code ways} (how a request finds its cell, wherever that is). Beside them is {@code line},
 * connections between nodes. Only the app's wiring knows any of them: it makes {@code ways.ClusterCells} and the lines.
 */
@NullMarked
package io.kvasir.cell;

import org.jspecify.annotations.NullMarked;
