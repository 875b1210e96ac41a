package io.kvasir.cell.directory;

import io.kvasir.cell.ClusterMessage;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Where a cell is and where it has copies, as its home replicates it to every node. Nodes are named by address and
 * incarnation.
 *
 * @param home the node where the cell is at home
 * @param standbys the nodes that hold copies, or are about to
 * @param warm those of them that could take over
 * @param movingTo the one to which the cell is about to move as planned, null while it stays
 * @param peerPort where the home is asked over {@linkplain io.kvasir.peer.PeerConnections lines}, 0 from a node that is
 *     not
 */
public record CellNodes(String home, List<String> standbys, Set<String> warm, @Nullable String movingTo, int peerPort)
    implements ClusterMessage {}
