package io.kvasir.responses;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** What one node remembers: so many responses, and none for longer than a week without a use. Thread-safe. */
final class ResponseTable {
  private static final Duration LONGEST = Duration.ofDays(7);

  private final Cache<String, ResponseLocation> locations;

  ResponseTable(int limit) {
    locations = Caffeine.newBuilder().maximumSize(limit).expireAfterAccess(LONGEST).build();
  }

  void put(String response, ResponseLocation location) {
    locations.put(response, location);
  }

  @Nullable ResponseLocation get(String response) {
    return locations.getIfPresent(response);
  }
}
