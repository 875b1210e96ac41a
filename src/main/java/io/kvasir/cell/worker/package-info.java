/**
 * One worker in its slot of a cell, a {@link io.kvasir.cell.worker.Member}: what is booked on it, whether it is well
 * (its pod can be reached, it moves, it does not answer with errors), what is predicted of it, and whether its index
 * tells the truth. Plain Java: time comes in.
 */
@NullMarked
package io.kvasir.cell.worker;

import org.jspecify.annotations.NullMarked;
