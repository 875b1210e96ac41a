package io.kvasir.cell;

import io.kvasir.cell.WorkerStatus.Health;

/**
 * A change of a worker's health.
 *
 * @param timeMillis when, milliseconds since the epoch
 * @param worker the worker's id
 * @param pod its pod's name
 * @param health what it became
 * @param reason what is wrong with it, in words that follow its name; empty while it is well
 */
public record HealthChange(long timeMillis, String worker, String pod, Health health, String reason) {}
