package io.kvasir.lab;

/**
 * The goodput of one group of a run's requests, such as a tenant's.
 *
 * @param name the group's
 * @param requests how many it sent
 * @param goodput share of them that met the objective, 0 to 1
 * @param ttftP90Ms 90th percentile of the times to first token of those that were answered; NaN when none were
 */
public record GroupGoodput(String name, int requests, double goodput, double ttftP90Ms) {}
