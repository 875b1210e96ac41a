package io.kvasir.load.index;

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
 * determines what each request stores and evicts.
 */
final class IndexTrace {
  /**
   * One request.
   *
   * @param worker where it went
   * @param chain its blocks
   * @param locals the hash of each block by itself, whatever is before it
   * @param held how many of them the worker held
   * @param keys the engine keys of those it did not
   * @param hashes their chain hashes
   * @param evicted engine keys evicted for it
   * @param depths what every worker held of the chain before, as a checksum
   */
  record Request(
      int worker, long[] chain, long[] locals, int held, long[] keys, long[] hashes, long[] evicted, long depths) {}

  private IndexTrace() {}

  /**
   * Reads a trace.
   *
   * @param split blocks an id stands for
   * @param capacity blocks a worker can hold; longer requests are left out
   * @param copies how often each request comes, each time with content of its own
   */
  static List<Request> load(Path trace, int split, int workers, int capacity, int copies) throws IOException {
    List<long[]> ids = read(trace);
    List<Map<Long, Boolean>> caches = new ArrayList<>();
    for (int i = 0; i < workers; i++) {
      caches.add(new LinkedHashMap<>(capacity * 2, 0.75f, true));
    }
    int[] served = new int[workers];
    List<Request> requests = new ArrayList<>();
    for (long[] id : ids) {
      for (int copy = 0; copy < copies; copy++) {
        long[] locals = locals(id, split, copy);
        if (locals.length > 0 && locals.length <= capacity) {
          requests.add(place(chain(locals), locals, caches, served, capacity));
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

  private static Request place(
      long[] chain, long[] locals, List<Map<Long, Boolean>> caches, int[] served, int capacity) {
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
    return new Request(best, chain, locals, held, keys, hashes, evicted, checksum(depths, workers));
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

  private static long[] locals(long[] ids, int split, int copy) {
    long[] locals = new long[ids.length * split];
    for (int i = 0; i < locals.length; i++) {
      locals[i] = ids[i / split] * split + i % split + ((long) copy << 48);
    }
    return locals;
  }

  private static long[] chain(long[] locals) {
    long[] chain = new long[locals.length];
    long parent = BlockHash.NONE;
    for (int i = 0; i < chain.length; i++) {
      parent = BlockHash.chained(parent, locals[i]);
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
        if (line.isBlank()) {
          continue;
        }
        JsonNode ids = json.readTree(line).path("hash_ids");
        if (!ids.isArray()) {
          throw new IOException(trace + ": a line has no hash_ids: is it a Mooncake trace?");
        }
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
