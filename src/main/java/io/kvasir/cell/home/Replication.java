package io.kvasir.cell.home;

import io.kvasir.cell.directory.CellNodesKeeper;
import io.kvasir.cell.directory.NodesByCell;
import io.kvasir.cell.ledger.NextHome;
import io.kvasir.cell.standby.CellReplicas;
import java.util.function.Function;
import org.apache.pekko.actor.typed.ActorRef;

/**
 * How cells of a node come to have copies on others, and to move to them.
 *
 * @param node this node's name: its address and incarnation
 * @param peerPort where other nodes ask this one over lines
 * @param nodesByCell where all cells are
 * @param replicas those on this node
 * @param keeper makes nodesByCell known
 * @param nextHomes to cells that are at home elsewhere
 */
public record Replication(
    String node,
    int peerPort,
    NodesByCell nodesByCell,
    CellReplicas replicas,
    ActorRef<CellNodesKeeper.Message> keeper,
    Function<String, NextHome> nextHomes) {}
