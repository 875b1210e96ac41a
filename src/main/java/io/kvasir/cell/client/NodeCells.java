package io.kvasir.cell.client;

import io.kvasir.cell.FleetDescription;
import io.kvasir.cell.LearntEngines;
import io.kvasir.cell.Pods;

/**
 * What a node's other rooms have of the cells.
 *
 * @param cells for requests
 * @param pods for those who say which engines there are
 * @param fleet for administration
 * @param learntEngines has what is learnt of workers' engines
 */
public record NodeCells(ClusterCells cells, Pods pods, FleetDescription fleet, LearntEngines learntEngines) {}
