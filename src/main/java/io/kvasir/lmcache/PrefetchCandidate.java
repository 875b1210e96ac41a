package io.kvasir.lmcache;

import io.kvasir.routing.CacheMatches;
import io.kvasir.routing.CacheMatches.Match;
import io.kvasir.routing.RequestFacts;
import io.kvasir.routing.Worker;
import org.jspecify.annotations.Nullable;

/**
 * A prompt that is about to be computed.
 *
 * @param worker that computes it
 * @param tokens the prompt's length
 * @param held leading tokens that the worker's device is expected to hold
 * @param matches where LMCache holds its beginning
 * @param facts of the prompt's request
 */
public record PrefetchCandidate(Worker worker, int tokens, int held, CacheMatches matches, RequestFacts facts) {
  /** The longest match that the worker can load, null when there is none. */
  @Nullable Match match() {
    Match longest = null;
    for (Match match : matches.matches()) {
      boolean loadable = match.worker().equals(worker.id()) || match.worker().equals(CacheMatches.ANY_WORKER);
      if (loadable && (longest == null || match.tokens() > longest.tokens())) {
        longest = match;
      }
    }
    return longest;
  }
}
