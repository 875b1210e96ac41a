package io.kvasir.lmcache;

import io.kvasir.routing.CacheMatches;
import io.kvasir.routing.CacheMatches.Match;
import io.kvasir.routing.RequestFacts;
import io.kvasir.routing.Worker;
import org.jspecify.annotations.Nullable;

/**
 * A prompt about to be read.
 *
 * @param worker who will
 * @param tokens how long it is
 * @param held leading tokens that its device is taken to hold
 * @param matches where LMCache holds its beginning
 * @param facts what its request says of itself
 */
public record PrefetchCandidate(Worker worker, int tokens, int held, CacheMatches matches, RequestFacts facts) {
  /** What the worker can load most of, null when there is nothing. */
  @Nullable Match match() {
    Match most = null;
    for (Match match : matches.matches()) {
      boolean loads = match.worker().equals(worker.id()) || match.worker().equals(CacheMatches.ANY_WORKER);
      if (loads && (most == null || match.tokens() > most.tokens())) {
        most = match;
      }
    }
    return most;
  }
}
