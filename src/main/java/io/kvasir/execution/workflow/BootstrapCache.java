package io.kvasir.execution.workflow;

import io.kvasir.execution.dialect.JsonMembers;
import io.kvasir.http.Headers;
import io.kvasir.http.client.PodClient;
import io.kvasir.http.client.PodException;
import io.kvasir.http.client.PodRequest;
import io.kvasir.http.client.PodResponse;
import java.net.URI;
import java.time.Duration;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * What prefill engines' bootstrap servers have told, for as long as it holds: until a request that used it fails,
 * for a restarted engine has another identity, and for half a minute at most. Thread-safe; reading blocks.
 */
final class BootstrapCache {
  private static final Duration TTL = Duration.ofSeconds(30);
  private static final Duration TIMEOUT = Duration.ofSeconds(2);
  /** Far above any fleet; when it is reached all are forgotten. */
  private static final int MAX_ENTRIES = 4096;
  private static final int MAX_BYTES = 1 << 20;

  private final PodClient pods;
  private final ConcurrentHashMap<URI, CachedBootstrap> entries = new ConcurrentHashMap<>();

  private record CachedBootstrap(JsonMembers answer, long fetchedAt) {}

  BootstrapCache(PodClient pods) {
    this.pods = pods;
  }

  /** What is known of an address; null when nothing is, or too old. */
  @Nullable JsonMembers cached(URI address) {
    CachedBootstrap known = entries.get(address);
    return known == null || System.nanoTime() - known.fetchedAt() > TTL.toNanos() ? null : known.answer();
  }

  /**
   * Asks the server.
   *
   * @throws PodException when it does not answer with a JSON object in time
   */
  JsonMembers fetch(URI address) throws PodException {
    URI server = URI.create(address.getScheme() + "://" + address.getRawAuthority());
    PodRequest request = new PodRequest(server, "GET", address.getRawPath(), Headers.EMPTY, new byte[0]);
    PodResponse response = pods.call(request, TIMEOUT, TIMEOUT).send();
    try {
      JsonMembers answer = JsonMembers.tryOf(response.readAll(MAX_BYTES));
      if (response.status() != 200 || answer == null) {
        throw new PodException(
            PodException.Kind.PROTOCOL, address + " answered nothing of use, status " + response.status(), null);
      }
      if (entries.size() >= MAX_ENTRIES) {
        entries.clear();
      }
      entries.put(address, new CachedBootstrap(answer, System.nanoTime()));
      return answer;
    } finally {
      response.close();
    }
  }

  /** A request that relied on what was told has failed. */
  void invalidate(URI address) {
    entries.remove(address);
  }
}
