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
  /** Where a response is. */
  record Place(String worker, String model) {}

  private final Cache<String, Place> places;

  StoredResponses(int limit) {
    places = Caffeine.newBuilder().maximumSize(limit).build();
  }

  void remember(String responseId, Worker worker, String model) {
    places.put(responseId, new Place(worker.id(), model));
  }

  @Nullable Place placeOf(String responseId) {
    return places.getIfPresent(responseId);
  }
}
