package io.kvasir.index;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Predictions, stores and removals in any order, on chains that share prefixes, against plain maps. */
final class PredictionsPropertyTest {
  private static final int SLOT = 63;
  private static final int CHAINS = 30;

  private final List<long[]> chains = new ArrayList<>();
  private final Map<Long, Long> keys = new HashMap<>();

  /** Predicted hashes, the one that gives way first in front. */
  private final LinkedHashMap<Long, Predicted> predicted = new LinkedHashMap<>();

  private final List<Made> made = new ArrayList<>();
  private SplittableRandom random = new SplittableRandom();
  private BlockIndex index = new BlockIndex(64, 64 << 20);
  private WorkerBlocks worker = index.open(0);
  private int maxPredicted;
  private long now;

  private static final class Predicted {
    final int birth;
    int uses;
    long expiry;

    Predicted(int birth) {
      this.birth = birth;
    }
  }

  private record Made(int number, long[] chain, Prediction prediction) {}

  @ParameterizedTest
  @CsvSource({"64,100000,1", "64,100000,2", "64,100000,3", "128,400,4", "128,400,5", "256,60,6", "256,60,7", "64,7,8"})
  void predictions_areAsPlainMaps(int slots, int capacity, long seed) {
    random = new SplittableRandom(seed);
    maxPredicted = capacity;
    index = new BlockIndex(slots, 64 << 20);
    worker = index.open(SLOT, capacity);
    grow();
    for (int step = 0; step < 4000; step++) {
      long[] chain = chains.get(random.nextInt(CHAINS));
      chain = Arrays.copyOf(chain, 1 + random.nextInt(chain.length));
      switch (random.nextInt(20)) {
        case 0, 1, 2, 3, 4, 5, 6 -> predict(chain);
        case 7, 8 -> retract();
        case 9 -> expire();
        case 10, 11, 12, 13 -> store(chain);
        case 14 -> clear();
        case 15 -> move();
        default -> remove(chain);
      }
      check();
    }
    now = Long.MAX_VALUE;
    worker.clear();
    assertThat(index.rows()).isZero();
  }

  private void grow() {
    for (int i = 0; i < CHAINS; i++) {
      long[] base = i < 3 ? new long[0] : chains.get(random.nextInt(chains.size()));
      int shared = base.length == 0 ? 0 : random.nextInt(base.length);
      // Within one slice: in longer prompts what gives way in one slice may be placed anew in a later one.
      long[] chain = Arrays.copyOf(base, Math.max(shared + 1, random.nextInt(250)));
      for (int p = shared; p < chain.length; p++) {
        chain[p] = BlockHash.chained(p == 0 ? BlockHash.NONE : chain[p - 1], random.nextInt(1, 50) + 100L * i);
      }
      chains.add(chain);
    }
  }

  private void predict(long[] chain) {
    long expiry = maxPredicted == 100_000 ? now + 1 + random.nextInt(20) : Long.MAX_VALUE;
    int number = made.size() + 1;
    made.add(new Made(number, chain, worker.predict(chain, expiry)));
    int count = Math.min(chain.length, maxPredicted);
    int confirmed = 0;
    while (confirmed < count && keys.containsKey(chain[confirmed])) {
      confirmed++;
    }
    for (int i = count - 1; i >= 0; i--) {
      Predicted entry = predicted.remove(chain[i]);
      if (entry == null && keys.containsKey(chain[i])) {
        continue;
      }
      if (entry == null) {
        entry = new Predicted(number);
      }
      entry.uses++;
      entry.expiry = Math.max(entry.expiry, expiry);
      predicted.put(chain[i], entry);
    }
    for (Iterator<Long> oldest = predicted.keySet().iterator(); predicted.size() > maxPredicted; ) {
      oldest.next();
      oldest.remove();
    }
    assertThat(made.getLast().prediction.confirmed()).isEqualTo(confirmed);
  }

  private void retract() {
    if (made.isEmpty()) {
      return;
    }
    Made one = made.get(Math.max(0, made.size() - 1 - random.nextInt(20)));
    boolean first = retracted.add(one.number);
    one.prediction.retract();
    for (int i = 0; first && i < Math.min(one.chain.length, maxPredicted); i++) {
      Predicted entry = predicted.get(one.chain[i]);
      if (entry != null && entry.birth <= one.number && --entry.uses == 0) {
        predicted.remove(one.chain[i]);
      }
    }
  }

  private final Set<Integer> retracted = new HashSet<>();

  private void expire() {
    now += random.nextInt(15);
    worker.expire(now);
    predicted.values().removeIf(entry -> entry.expiry <= now);
  }

  private void store(long[] chain) {
    worker.store(0, true, chain, chain, chain.length, Tier.DEVICE, false);
    for (long hash : chain) {
      keys.put(hash, hash);
      predicted.remove(hash);
    }
  }

  private void remove(long[] chain) {
    int keep = random.nextInt(chain.length);
    for (int i = chain.length - 1; i >= keep; i--) {
      worker.remove(chain[i], Tier.DEVICE, false);
      keys.remove(chain[i]);
    }
  }

  /** Into another index: what was predicted before can be taken back through it. */
  private void move() {
    if (random.nextInt(20) == 0) {
      BlockIndex next = new BlockIndex(index.slots(), 64 << 20);
      WorkerBlocks successor = next.open(SLOT, maxPredicted);
      worker.handOver().forEachRemaining(successor::take);
      worker.succeededBy(successor);
      index = next;
      worker = successor;
    }
  }

  private void clear() {
    if (random.nextInt(10) == 0) {
      worker.clear();
      keys.clear();
      predicted.clear();
    }
  }

  private void check() {
    assertThat(worker.predicted()).isEqualTo(predicted.size());
    assertThat(worker.size()).isEqualTo(keys.size());
    assertThat(index.rows()).isEqualTo(keys.size() + predicted.size());
    long[] chain = chains.get(random.nextInt(CHAINS));
    int depth = 0;
    while (depth < chain.length && (keys.containsKey(chain[depth]) || predicted.containsKey(chain[depth]))) {
      depth++;
    }
    assertThat(index.verify(new Chain(chain, 16), SLOT)).isEqualTo(depth);
  }
}
