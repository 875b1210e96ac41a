package io.kvasir.cell.home;

import io.kvasir.cell.directory.CellNodesKeeper;
import io.kvasir.cell.directory.NodesByCell;
import io.kvasir.cell.ledger.NextHome;
import io.kvasir.cell.standby.CellReplicas;
import java.util.function.Function;
import org.apache.pekko.actor.typed.ActorRef;

/**
 * What cells of a node need to be replicated to others, and to move to them.
 *
 * @param node this node's name: its address and incarnation
 * @param peerPort the port at which peers reach this node
 * @param nodesByCell where all cells are
 * @param replicas the replicas on this node
 * @param keeper replicates nodesByCell
 * @param nextHomes the clients of cells whose home is another node
 */
public record Replication(
    String node,
    int peerPort,
    NodesByCell nodesByCell,
    CellReplicas replicas,
    ActorRef<CellNodesKeeper.Message> keeper,
    Function<String, NextHome> nextHomes) {}
