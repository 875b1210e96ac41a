package io.kvasir.picker;

import io.kvasir.cell.Cells;
import io.kvasir.gateway.Gateway;
import io.kvasir.http.MemoryBudget;
import io.kvasir.http.client.PodKeys;
import io.kvasir.pools.LivePools;

/**
 * What every stream of a picker shares.
 *
 * @param gateway reads requests and has them decided
 * @param cells the workers
 * @param exclusions the workers outside pools
 * @param pools the pools that are known
 * @param keys the API keys of pods
 * @param memory of the bodies that are held
 * @param unseen the load of requests whose answers are not shown
 * @param undecided the streams of requests that wait
 */
record PickerServices(
    Gateway gateway, Cells cells, PoolExclusions exclusions, LivePools pools, PodKeys keys, PickerSettings settings,
    MemoryBudget memory, UnseenBookings unseen, UndecidedStreams undecided, PickerMetrics metrics) {
  /** Answers to requests that reach no worker. */
  OwnAnswers answers() {
    return new OwnAnswers(gateway, settings.limits().maxBodyBytes(), settings.keys());
  }
}
