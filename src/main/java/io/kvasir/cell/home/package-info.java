/**
 * The actors of a cell on its home node. {@link io.kvasir.cell.home.Cell} is the sharded entity; it gives workers their
 * slots ({@code Members}, {@code IndexResizer}, {@code SlotReclaimer}), has their events applied ({@code EventActors},
 * {@link io.kvasir.cell.home.WorkerEvents}) and what comes of them kept true ({@code IndexUpkeep}), probes them ({@code
 * HealthMonitor}, {@code Canaries}) and has the cell replicated to other nodes, and moved there ({@code Standbys}). It
 * ends some time after its last pod ({@code Vacancy}). An actor of a worker's events reads its {@code EventStream} and
 * feeds its {@code WorkerReplicas}.
 */
@NullMarked
package io.kvasir.cell.home;

import org.jspecify.annotations.NullMarked;
