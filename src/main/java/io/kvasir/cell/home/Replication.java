package io.kvasir.cell.home;

import io.kvasir.cell.ledger.NextHome;
import io.kvasir.cell.standby.CellCopies;
import io.kvasir.cell.standby.CellNodesKeeper;
import io.kvasir.cell.standby.NodesByCell;
import java.util.function.Function;
import org.apache.pekko.actor.typed.ActorRef;

/**
 * How cells of a node come to have copies on others, and to move to them.
 *
 * @param node this node's name: its address and incarnation
 * @param linePort where other nodes ask this one over lines
 * @param nodesByCell where all cells are
 * @param copies those on this node
 * @param keeper makes nodesByCell known
 * @param ways to cells that are at home elsewhere
 */
public record Replication(
    String node,
    int linePort,
    NodesByCell nodesByCell,
    CellCopies copies,
    ActorRef<CellNodesKeeper.Message> keeper,
    Function<String, NextHome> ways) {}
