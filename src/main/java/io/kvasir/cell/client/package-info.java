/**
 * How a request finds its cell. {@link io.kvasir.cell.client.ClusterCells} is a node's way to all of them, and starts
 * the node's part of them: a {@code CellChoice} picks one of a model's cells by what the prompt begins with, as far as
 * the {@code PressureBroadcast} allow; one at home here decides at once, one elsewhere is asked through a {@code
 * RemoteCell}, over the lines of package {@code line}, and while there is no home the {@code Fallback} chooses from the
 * roster alone.
 */
@NullMarked
package io.kvasir.cell.client;

import org.jspecify.annotations.NullMarked;
