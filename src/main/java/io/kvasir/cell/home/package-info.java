/**
 * A cell at home on this node: the actors behind its view. {@link io.kvasir.cell.home.Cell} is the sharded entity; it
 * gives workers their slots ({@code Members}, {@code IndexResizer}, {@code SlotReclaimer}), has their events applied
 * ({@code EventActors}, {@link io.kvasir.cell.home.WorkerEvents}), watches how they are ({@code HealthMonitor}) and has
 * itself copied to other nodes ({@code Standbys}).
 */
@NullMarked
package io.kvasir.cell.home;

import org.jspecify.annotations.NullMarked;
