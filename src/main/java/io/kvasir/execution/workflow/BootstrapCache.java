package io.kvasir.execution.workflow;

import io.kvasir.execution.dialect.JsonMembers;
import io.kvasir.http.Headers;
import io.kvasir.http.client.PodTransport;
import io.kvasir.http.client.PodException;
import io.kvasir.http.client.PodRequest;
import io.kvasir.http.client.PodResponse;
import io.kvasir.time.NanoClock;
import java.net.URI;
import java.time.Duration;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Caches the responses of prefill engines' bootstrap servers: until a request that used one fails, for a restarted
 * engine has another identity, and for half a minute at most. Thread-safe; reading blocks.
 */
final class BootstrapCache {
  private static final Duration TTL = Duration.ofSeconds(30);
  private static final Duration TIMEOUT = Duration.ofSeconds(2);
  /** Far above any fleet; at this size the cache is cleared. */
  private static final int MAX_ENTRIES = 4096;
  private static final int MAX_BYTES = 1 << 20;

  private final PodTransport pods;
  private final NanoClock clock;
  private final ConcurrentHashMap<URI, CachedBootstrap> entries = new ConcurrentHashMap<>();

  private record CachedBootstrap(JsonMembers answer, long fetchedAt) {}

  BootstrapCache(PodTransport pods, NanoClock clock) {
    this.pods = pods;
    this.clock = clock;
  }

  /** The response of an address; null without one, or when it is too old. */
  @Nullable JsonMembers cached(URI address) {
    CachedBootstrap known = entries.get(address);
    return known == null || clock.nanos() - known.fetchedAt() > TTL.toNanos() ? null : known.answer();
  }

  /**
   * Reads a response from the server and keeps it.
   *
   * @throws PodException when the server does not respond with a JSON object in time
   */
  JsonMembers fetch(URI address) throws PodException {
    URI server = URI.create(address.getScheme() + "://" + address.getRawAuthority());
    PodRequest request = new PodRequest(server, "GET", address.getRawPath(), Headers.EMPTY, new byte[0]);
    PodResponse response = pods.call(request, TIMEOUT, TIMEOUT).send();
    try {
      JsonMembers answer = JsonMembers.tryOf(response.readAll(MAX_BYTES));
      if (response.status() != 200 || answer == null) {
        throw new PodException(
            PodException.Kind.PROTOCOL, address + " did not respond with a JSON object, status " + response.status(),
            null);
      }
      if (entries.size() >= MAX_ENTRIES) {
        entries.clear();
      }
      entries.put(address, new CachedBootstrap(answer, clock.nanos()));
      return answer;
    } finally {
      response.close();
    }
  }

  /** Forgets the response of an address: a request that used it has failed. */
  void invalidate(URI address) {
    entries.remove(address);
  }
}
