package io.kvasir.cell.worker;

import org.jspecify.annotations.Nullable;

/**
 * A request at one of its workers.
 *
 * @param id the same for all tries of a request; null for one whose id is not known here
 * @param model as the request names it
 * @param generates whether the worker's answer is the client's
 * @param prefiller health of the worker that computed the prompt, whose KV blocks this one was to receive; null where
 *     it computes the prompt itself
 */
public record ServedRequest(
    @Nullable String id, String model, boolean generates, @Nullable WorkerHealth prefiller) {
  /** The same when the worker computes the prompt itself after all. */
  public ServedRequest computing() {
    return new ServedRequest(id, model, generates, null);
  }
}
