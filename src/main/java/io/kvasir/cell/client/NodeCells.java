package io.kvasir.cell.client;

import io.kvasir.cell.FleetDescription;
import io.kvasir.cell.Pods;
import io.kvasir.cell.Preparations;

/**
 * What a node's other rooms have of the cells.
 *
 * @param cells for requests
 * @param pods for those who say which engines there are
 * @param fleet for administration
 * @param preparations is to be told how workers' engines prepare prompts
 */
public record NodeCells(ClusterCells cells, Pods pods, FleetDescription fleet, Preparations preparations) {}
