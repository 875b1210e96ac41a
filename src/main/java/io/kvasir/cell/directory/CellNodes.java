package io.kvasir.cell.directory;

import io.kvasir.cell.ClusterMessage;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The nodes of a cell, as its home replicates them to every node. Nodes are named by address and incarnation.
 *
 * @param home the node that is the cell's home
 * @param standbys the nodes that hold replicas, or are about to
 * @param warm those of them that could take over
 * @param movingTo the one to which the cell is about to move as planned, null while it stays
 * @param peerPort the home's port for {@linkplain io.kvasir.peer.PeerConnections peer connections}, 0 when it has none
 */
public record CellNodes(String home, List<String> standbys, Set<String> warm, @Nullable String movingTo, int peerPort)
    implements ClusterMessage {}
