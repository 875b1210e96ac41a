package io.kvasir.app.node;

import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.execution.Call;
import io.kvasir.execution.Warmup;
import io.kvasir.lmcache.LmCache;
import io.kvasir.lmcache.PrefetchCandidate;
import io.kvasir.routing.CacheMatches;
import io.kvasir.routing.Slots;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Has LMCache fetch what lookups found far from the worker that was chosen. Thread-safe. */
final class LmCacheWarmup implements Warmup {
  private static final Logger LOG = LoggerFactory.getLogger(LmCacheWarmup.class);

  private final LmCache lmcache;

  LmCacheWarmup(LmCache lmcache) {
    this.lmcache = lmcache;
  }

  @Override
  public void prepare(Call call, Decision.Chosen reader) {
    DecisionRequest request = call.decision();
    CacheMatches found = request.prepared().get(Slots.CACHE_MATCHES);
    if (found == null || !found.known()) {
      return;
    }
    // What is predicted to be cached has the tokens in it that the worker is to load.
    int held = reader.depth() * request.prompt().chain().blockSize();
    try {
      lmcache.prefetch(
          new PrefetchCandidate(
              reader.worker(),
              request.prompt().tokens(),
              held,
              found,
              call.facts()));
    } catch (RuntimeException broken) {
      LOG.warn("request {} goes on without what could have been fetched for it", request.requestId(), broken);
    }
  }
}
