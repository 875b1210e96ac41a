package io.kvasir.cell;

import java.time.Duration;

/**
 * What an operator can set about cells.
 *
 * @param slots workers a cell has room for: 64, 128 or 256
 * @param indexBudgetBytes the most memory a cell's index may take
 * @param decisionTimeout how long a node waits for a decision of another node
 * @param reservationLease how long a reservation held by another node may live without being closed;
 *     longer than any request may take
 * @param health how workers are watched
 */
public record CellSettings(
    int slots, long indexBudgetBytes, Duration decisionTimeout, Duration reservationLease, HealthSettings health) {

  /**
   * How workers are watched.
   *
   * @param probeInterval between probes of a worker that answers
   * @param probeIntervalDown between probes of one that does not, or has not yet
   * @param breakerFailures error answers in a row that open a worker's circuit
   * @param breakerOpen how long an open circuit keeps requests away
   * @param breakerSuccesses good answers in a row that close it again
   */
  public record HealthSettings(
      Duration probeInterval,
      Duration probeIntervalDown,
      int breakerFailures,
      Duration breakerOpen,
      int breakerSuccesses) {}
}
