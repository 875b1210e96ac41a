/**
 * One worker in its slot of a cell, a {@link io.kvasir.cell.worker.Member}: the load booked on it ({@link
 * io.kvasir.cell.worker.WorkerLoad}), its health ({@link io.kvasir.cell.worker.WorkerHealth}: its pod can be reached,
 * its requests progress, its circuit breaker is closed; {@link
 * io.kvasir.cell.worker.ErrorAnswers} find out which errors count for that), what it holds and will hold ({@link
 * io.kvasir.cell.worker.WorkerCache}), the cache hits predicted of it ({@link io.kvasir.cell.worker.HitPrediction}) and
 * how often they came true ({@link io.kvasir.cell.worker.CacheHitAccuracy}).
 * Plain Java: time comes in.
 */
@NullMarked
package io.kvasir.cell.worker;

import org.jspecify.annotations.NullMarked;
