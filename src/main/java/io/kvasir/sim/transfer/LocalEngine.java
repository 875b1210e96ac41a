package io.kvasir.sim.transfer;

import io.kvasir.routing.Role;
import java.time.Duration;
import java.util.List;

/**
 * The engine that a connector serves, as other engines address it.
 *
 * @param host where its side channel is
 * @param port of the side channel
 * @param engineIds its id, rank by rank
 * @param role what it is for
 * @param blockSize tokens in a block
 * @param lease how long it keeps blocks for others
 * @param watchdog how long it waits for others
 */
record LocalEngine(
    String host, int port, List<String> engineIds, Role role, int blockSize, Duration lease, Duration watchdog) {
  int ranks() {
    return engineIds.size();
  }
}
