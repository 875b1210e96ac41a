package io.kvasir.cell;

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
record Replication(
    String node,
    int linePort,
    NodesByCell nodesByCell,
    CellCopies copies,
    ActorRef<CellNodesKeeper.Message> keeper,
    Function<String, NextHome> ways) {}
