package io.kvasir.locations;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** What one node remembers: so many locations, and none for longer than a week without a use. Thread-safe. */
final class LocationTable {
  private static final Duration LONGEST = Duration.ofDays(7);

  private final Cache<String, WorkerLocation> locations;

  LocationTable(int limit) {
    locations = Caffeine.newBuilder().maximumSize(limit).expireAfterAccess(LONGEST).build();
  }

  void put(String name, WorkerLocation location) {
    locations.put(name, location);
  }

  @Nullable WorkerLocation get(String name) {
    return locations.getIfPresent(name);
  }
}
