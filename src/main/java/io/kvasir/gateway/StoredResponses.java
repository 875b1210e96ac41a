package io.kvasir.gateway;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.kvasir.routing.Worker;
import org.jspecify.annotations.Nullable;

/**
 * Which worker holds which stored response: engines keep them in one process's memory, so what builds
 * on one must go back there. Bounded; what is forgotten, and what another node relayed, goes to any
 * worker. Thread-safe.
 */
final class StoredResponses {
  /**
   * Where a response is, and whose it is.
   *
   * @param tenant empty for that of the anonymous caller
   */
  record ResponseLocation(String worker, String model, String tenant) {}

  private final Cache<String, ResponseLocation> locations;

  StoredResponses(int limit) {
    locations = Caffeine.newBuilder().maximumSize(limit).build();
  }

  void remember(String responseId, Worker worker, String model, String tenant) {
    locations.put(responseId, new ResponseLocation(worker.id(), model, tenant));
  }

  @Nullable ResponseLocation locationOf(String responseId) {
    return locations.getIfPresent(responseId);
  }
}
