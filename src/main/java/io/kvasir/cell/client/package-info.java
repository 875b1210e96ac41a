/**
 * A node's clients of all cells. {@link io.kvasir.cell.client.CellsWiring} starts the node's part of the cells and
 * makes its {@link io.kvasir.cell.client.NodeCells}. Requests pass through {@link io.kvasir.cell.client.ClusterCells}:
 * a {@code CellChoice} picks one of the model's cells by the beginning of the prompt and by the pressure that the
 * {@code PressureBroadcast} has put into the {@code CellReports}. A cell whose home is this node decides at once; any
 * other does through its {@code RemoteCell}, whose {@code CellHomeClient} sends the request to the {@code
 * DecisionServer} at the home, over peer connections ({@code PeerDecisions}) or over the cluster. While no home
 * answers, the {@code Fallback} chooses from the roster alone. What this node has in flight at homes on other nodes is
 * kept in {@code InFlightLoads}, to be declared to a new home; {@code HolderMessages} have a home take it back from its
 * worker, and learn when it was sent. {@code ClusterPods} changes the roster, {@code ClusterDescription} collects what
 * the homes of all cells are like.
 */
@NullMarked
package io.kvasir.cell.client;

import org.jspecify.annotations.NullMarked;
