package io.kvasir.execution;

import io.kvasir.execution.dialect.JsonMembers;
import java.net.URI;
import java.time.Duration;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * What prefill engines' bootstrap servers have told, for as long as it holds: until a request that used it fails,
 * for a restarted engine has another identity, and for half a minute at most. Thread-safe; reading blocks.
 */
final class Bootstraps {
  private static final Duration KEPT = Duration.ofSeconds(30);
  private static final Duration PATIENCE = Duration.ofSeconds(2);
  /** Far above any fleet; when it is reached all are forgotten. */
  private static final int MOST = 4096;
  private static final int MOST_BYTES = 1 << 20;

  private final PodClient pods;
  private final ConcurrentHashMap<URI, Told> told = new ConcurrentHashMap<>();

  private record Told(JsonMembers answer, long at) {}

  Bootstraps(PodClient pods) {
    this.pods = pods;
  }

  /** What is known of an address; null when nothing is, or too old. */
  @Nullable JsonMembers known(URI address) {
    Told known = told.get(address);
    return known == null || System.nanoTime() - known.at() > KEPT.toNanos() ? null : known.answer();
  }

  /**
   * Asks the server.
   *
   * @throws PodException when it does not answer with a JSON object in time
   */
  JsonMembers read(URI address) throws PodException {
    URI server = URI.create(address.getScheme() + "://" + address.getRawAuthority());
    PodRequest request = new PodRequest(server, "GET", address.getRawPath(), Headers.EMPTY, new byte[0]);
    PodResponse response = pods.call(request, PATIENCE, PATIENCE).send();
    try {
      JsonMembers answer = JsonMembers.tryOf(response.readAll(MOST_BYTES));
      if (response.status() != 200 || answer == null) {
        throw new PodException(
            PodException.Kind.PROTOCOL, address + " answered nothing of use, status " + response.status(), null);
      }
      if (told.size() >= MOST) {
        told.clear();
      }
      told.put(address, new Told(answer, System.nanoTime()));
      return answer;
    } finally {
      response.close();
    }
  }

  /** A request that relied on what was told has failed. */
  void forget(URI address) {
    told.remove(address);
  }
}
