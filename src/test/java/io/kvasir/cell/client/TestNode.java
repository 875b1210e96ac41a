package io.kvasir.cell.client;

import io.kvasir.cell.FleetDescription;
import io.kvasir.cell.Pods;

/** A node of a test, and what it has of the cells. */
interface TestNode {
  NodeCells clients();

  default ClusterCells cells() {
    return clients().cells();
  }

  default Pods pods() {
    return clients().pods();
  }

  default FleetDescription fleet() {
    return clients().fleet();
  }
}
