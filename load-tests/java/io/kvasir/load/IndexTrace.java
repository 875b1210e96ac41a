package io.kvasir.load;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.index.BlockHash;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.GZIPInputStream;

/**
 * What an index sees of a Mooncake trace: every 512-token id split into blocks, requests placed on the
 * worker that holds most of them unless it is ahead of the others, and an LRU cache per worker that
 * says what each request stores and evicts.
 */
final class IndexTrace {
  /**
   * One request.
   *
   * @param worker where it went
   * @param chain its blocks
   * @param held how many of them the worker held
   * @param keys the engine keys of those it did not
   * @param hashes their chain hashes
   * @param evicted engine keys evicted for it
   * @param depths what every worker held of the chain before, as a checksum
   */
  record Request(int worker, long[] chain, int held, long[] keys, long[] hashes, long[] evicted, long depths) {}

  private IndexTrace() {}

  static List<Request> load(Path trace, int split, int workers, int capacity, int copies) throws IOException {
    List<long[]> ids = read(trace);
    List<Map<Long, Boolean>> caches = new ArrayList<>();
    for (int i = 0; i < workers; i++) {
      caches.add(new LinkedHashMap<>(capacity * 2, 0.75f, true));
    }
    int[] served = new int[workers];
    List<Request> requests = new ArrayList<>();
    for (int copy = 0; copy < copies; copy++) {
      for (long[] id : ids) {
        long[] chain = chain(id, split, copy);
        if (chain.length <= capacity) {
          requests.add(place(chain, caches, served, capacity));
        }
      }
    }
    return requests;
  }

  /** The engine's name of a block. */
  static long key(long hash) {
    return Long.rotateLeft(hash, 17) * 0xD6E8FEB86659FD93L;
  }

  static long checksum(int[] depths, int workers) {
    long sum = 0;
    for (int i = 0; i < workers; i++) {
      sum = sum * 31 + depths[i];
    }
    return sum;
  }

  private static Request place(long[] chain, List<Map<Long, Boolean>> caches, int[] served, int capacity) {
    int workers = served.length;
    int[] depths = new int[workers];
    int best = 0;
    double bestCost = Double.MAX_VALUE;
    int least = Integer.MAX_VALUE;
    for (int count : served) {
      least = Math.min(least, count);
    }
    for (int w = 0; w < workers; w++) {
      depths[w] = depth(caches.get(w), chain);
      double cost = chain.length - depths[w] + 0.25 * chain.length * Math.max(0, served[w] - least - 8);
      if (cost < bestCost) {
        bestCost = cost;
        best = w;
      }
    }
    served[best]++;
    Map<Long, Boolean> cache = caches.get(best);
    int held = depths[best];
    for (int i = chain.length - 1; i >= held; i--) {
      cache.put(chain[i], true);
    }
    for (int i = held - 1; i >= 0; i--) {
      boolean _ = cache.getOrDefault(chain[i], false);
    }
    long[] evicted = new long[Math.max(0, cache.size() - capacity)];
    Iterator<Long> oldest = cache.keySet().iterator();
    for (int i = 0; i < evicted.length; i++) {
      evicted[i] = key(oldest.next());
      oldest.remove();
    }
    long[] hashes = new long[chain.length - held];
    long[] keys = new long[hashes.length];
    for (int i = 0; i < hashes.length; i++) {
      hashes[i] = chain[held + i];
      keys[i] = key(hashes[i]);
    }
    return new Request(best, chain, held, keys, hashes, evicted, checksum(depths, workers));
  }

  /** Caches hold prefixes: evicting by age takes leaves first. */
  private static int depth(Map<Long, Boolean> cache, long[] chain) {
    int low = 0;
    int high = chain.length;
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (cache.containsKey(chain[middle])) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  private static long[] chain(long[] ids, int split, int copy) {
    long[] chain = new long[ids.length * split];
    long parent = BlockHash.NONE;
    for (int i = 0; i < chain.length; i++) {
      parent = BlockHash.chained(parent, ids[i / split] * split + i % split + ((long) copy << 48));
      chain[i] = parent;
    }
    return chain;
  }

  private static List<long[]> read(Path trace) throws IOException {
    ObjectMapper json = new ObjectMapper();
    List<long[]> all = new ArrayList<>();
    try (InputStream raw = Files.newInputStream(trace);
        InputStream plain = trace.toString().endsWith(".gz") ? new GZIPInputStream(raw) : raw;
        BufferedReader lines = new BufferedReader(new InputStreamReader(plain, StandardCharsets.UTF_8))) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        JsonNode ids = json.readTree(line).path("hash_ids");
        long[] chain = new long[ids.size()];
        for (int i = 0; i < chain.length; i++) {
          chain[i] = ids.get(i).asLong();
        }
        all.add(chain);
      }
    }
    return all;
  }
}
