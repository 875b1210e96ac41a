/**
 * How a request finds its cell. {@link io.kvasir.cell.ways.ClusterCells} is a node's way to all of them, and starts the
 * node's part of them: a {@code CellChoice} picks one of a model's cells by what the prompt begins with, as far as the
 * {@code PressureNews} allow; one at home here decides at once, one elsewhere is asked through a {@code RemoteCell},
 * over the lines of package {@code line}, and while there is no home the {@code Fallback} chooses from the roster
 * alone.
 */
@NullMarked
package io.kvasir.cell.ways;

import org.jspecify.annotations.NullMarked;
