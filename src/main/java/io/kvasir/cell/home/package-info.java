/**
 * The actors of a cell on its home node. {@link io.kvasir.cell.home.Cell} is the sharded entity; it gives workers their
 * slots ({@code Members}, {@code IndexResizer}, {@code SlotReclaimer}), has their events applied ({@code EventActors},
 * {@link io.kvasir.cell.home.WorkerEvents}), probes them ({@code HealthMonitor}, {@code Canaries}) and has the cell
 * replicated to other nodes ({@code Standbys}). It ends some time after its last pod ({@code Vacancy}).
 */
@NullMarked
package io.kvasir.cell.home;

import org.jspecify.annotations.NullMarked;
