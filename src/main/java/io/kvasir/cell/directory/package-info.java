/**
 * Which pods there are, in which cell each is, and on which nodes cells are. The {@link
 * io.kvasir.cell.directory.Directory} replicates the pods to every node, {@code Assignment} gives those a cell that
 * have none, and a {@link io.kvasir.cell.directory.Roster} is what one node has received at one moment. The {@link
 * io.kvasir.cell.directory.CellNodesKeeper} replicates the homes and standbys of cells in the same way, for threads to
 * read in {@link io.kvasir.cell.directory.NodesByCell}.
 */
@NullMarked
package io.kvasir.cell.directory;

import org.jspecify.annotations.NullMarked;
