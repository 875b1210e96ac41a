/**
 * The API of cells for the other rooms. A cell is up to 256 workers that serve one model group, which has as many cells
 * as its workers need; one node is its home. {@link io.kvasir.cell.Cells} is a node's client of all of them: a {@link
 * io.kvasir.cell.DecisionRequest} goes in, a {@link io.kvasir.cell.Decision} comes out, and with it a {@link
 * io.kvasir.cell.Reservation} for every chosen worker, which its holder closes with an {@link io.kvasir.cell.Outcome}.
 * {@link io.kvasir.cell.Pods} is the roster from which cells have their workers, changed by discovery and
 * administrators; {@link io.kvasir.cell.FleetDescription} is what administration sees of all of it.
 *
 * <p>The rooms within, from below to above, each of which uses only those before it: {@code directory} (which pods
 * there are, in which cell, and which nodes are the homes and standbys of cells), {@code events} (engines' events,
 * applied to the index), {@code worker} (one worker's load, health and index accuracy), {@code standby} (replicas of
 * cells on other nodes), {@code ledger} (reservations: of what, for which node and until when), {@code view}
 * (decisions, on the threads of the cell's home), {@code home} (the cell's actors) and {@code client} (from a request
 * to its cell, whichever node is its home). Only the app's wiring knows any of them: it calls {@code
 * client.CellsWiring} with the node's {@code peer} connections.
 *
 * <p>What is <i>remote</i> is elsewhere: a cell whose home is another node is a {@code client.RemoteCell} to this one,
 * with its {@code RemoteReservation}s, {@code RemoteWaits} and {@code RemoteHolds}. The home's side of the same is a
 * {@code view.DecisionServer}. What that has for other nodes is <i>leased</i> ({@code ledger.LeasedReservations},
 * {@code view.LeasedTurns}): it ends when its node does not renew it, since a node may be lost with what it holds.
 */
@NullMarked
package io.kvasir.cell;

import org.jspecify.annotations.NullMarked;
