/**
 * Which pods there are and in which cell each is: the {@link io.kvasir.cell.directory.Directory} replicates the entries
 * to every node, {@code Assignment} gives those their cells that have none, and a {@link
 * io.kvasir.cell.directory.Roster} is what one node sees of it at one moment.
 */
@NullMarked
package io.kvasir.cell.directory;

import org.jspecify.annotations.NullMarked;
