package io.kvasir.load.index;

import io.kvasir.load.index.IndexTrace.Request;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** A set of block hashes per worker; a look-up walks the chain worker by worker. */
final class NestedMaps implements IndexUnderTest {
  private record Worker(Map<Long, Long> hashes, Set<Long> held) {}

  private final List<Worker> workers = new ArrayList<>();

  NestedMaps(int workers) {
    for (int i = 0; i < workers; i++) {
      this.workers.add(new Worker(new HashMap<>(), ConcurrentHashMap.newKeySet()));
    }
  }

  @Override
  public int apply(Request request) {
    Worker worker = workers.get(request.worker());
    for (long key : request.evicted()) {
      Long hash = worker.hashes.remove(key);
      if (hash != null) {
        worker.held.remove(hash);
      }
    }
    for (int i = 0; i < request.keys().length; i++) {
      worker.hashes.put(request.keys()[i], request.hashes()[i]);
      worker.held.add(request.hashes()[i]);
    }
    return request.evicted().length + request.keys().length;
  }

  @Override
  public void search(long[] chain, long[] locals, int[] depths) {
    for (int w = 0; w < workers.size(); w++) {
      Set<Long> held = workers.get(w).held;
      int depth = 0;
      while (depth < chain.length && held.contains(chain[depth])) {
        depth++;
      }
      depths[w] = depth;
    }
  }

  @Override
  public long pairs() {
    long pairs = 0;
    for (Worker worker : workers) {
      pairs += worker.held.size();
    }
    return pairs;
  }
}
