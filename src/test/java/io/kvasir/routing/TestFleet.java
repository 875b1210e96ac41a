package io.kvasir.routing;

import io.kvasir.index.Chain;
import java.net.URI;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.SequencedSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A fleet for tests: workers in order of their slots, with settable load and depths. */
final class TestFleet implements Fleet {
  final int[] depth;
  final int[] inFlight;
  final long[] pendingTokens;
  final double[] queueMs;
  final long[] contextTokens;
  final int[] waiting;
  final double[] kvUse;
  final double[] evictionLoss;
  final boolean[] alive;
  long @Nullable [] notHandingOver;
  final List<Booking> booked = new ArrayList<>();
  final List<Integer> bookedSlots = new ArrayList<>();
  final Worker[] workers;
  private final int slots;

  TestFleet(Worker... workers) {
    this.slots = workers.length <= 64 ? 64 : workers.length <= 128 ? 128 : 256;
    this.workers = Arrays.copyOf(workers, slots);
    this.depth = new int[slots];
    this.inFlight = new int[slots];
    this.pendingTokens = new long[slots];
    this.queueMs = new double[slots];
    this.contextTokens = new long[slots];
    this.waiting = new int[slots];
    this.kvUse = new double[slots];
    this.evictionLoss = new double[slots];
    Arrays.fill(waiting, Candidates.UNKNOWN);
    Arrays.fill(kvUse, Candidates.UNKNOWN);
    this.alive = new boolean[slots];
    Arrays.fill(alive, 0, workers.length, true);
  }

  /** Aggregated workers of one model on one engine, with room for 100 requests each. */
  static TestFleet of(int count) {
    Worker[] workers = new Worker[count];
    for (int slot = 0; slot < count; slot++) {
      workers[slot] = worker(slot, Role.BOTH, Set.of("m"), 100, "h100-Qwen2.5-7B-tp1");
    }
    return new TestFleet(workers);
  }

  /** Aggregated workers of model {@code m} and adapters {@code a} to {@code e}, a label set each. */
  @SafeVarargs
  static TestFleet labelled(Map<String, String>... labels) {
    Worker[] workers = new Worker[labels.length];
    for (int slot = 0; slot < labels.length; slot++) {
      SequencedSet<String> models = new LinkedHashSet<>(List.of("m", "a", "b", "c", "d", "e"));
      workers[slot] =
          new Worker(
              "w" + slot, "pod" + slot / 2, URI.create("http://127.0.0.1:" + (9000 + slot)), 0, 1, slot, Role.BOTH,
              models, labels[slot], 100, "h100-Qwen2.5-7B-tp1", null);
    }
    return new TestFleet(workers);
  }

  static Worker worker(int slot, Role role, Set<String> models, int maxInFlight, String engine) {
    URI url = URI.create("http://127.0.0.1:" + (9000 + slot));
    return new Worker("w" + slot, "w" + slot, url, 0, 1, slot, role, models, Map.of(), maxInFlight, engine, null);
  }

  /** A worker whose pod hands KV blocks over, or takes them, on a host of its own. */
  static Worker worker(int slot, Role role, KvTransfer.Dialect dialect, String group, int maxInFlight) {
    URI url = URI.create("http://h" + slot + ".test:8000");
    KvTransfer transfer =
        new KvTransfer(dialect, group, "h" + slot, 8998, "", 1, 1, new KvTransfer.TransferCost(6, 5));
    return new Worker(
        "w" + slot, "w" + slot, url, 0, 1, slot, role, Set.of("m"), Map.of("zone", slot % 2 == 0 ? "even" : "odd"),
        maxInFlight, "h100-Qwen2.5-7B-tp1", transfer);
  }

  @Override
  public int slots() {
    return slots;
  }

  @Override
  public void snapshot(Candidates candidates) {
    candidates.workers = workers;
    candidates.notHandingOver = notHandingOver;
    Arrays.fill(candidates.live, 0);
    for (int slot = 0; slot < slots; slot++) {
      if (alive[slot]) {
        candidates.live[slot >>> 6] |= 1L << slot;
      }
      candidates.inFlight[slot] = inFlight[slot];
      candidates.pendingTokens[slot] = pendingTokens[slot];
      candidates.queueMs[slot] = queueMs[slot];
      candidates.contextTokens[slot] = contextTokens[slot];
      candidates.waiting[slot] = waiting[slot];
      candidates.kvUse[slot] = kvUse[slot];
      candidates.evictionLoss[slot] = evictionLoss[slot];
    }
  }

  @Override
  public void search(Chain chain, Candidates candidates) {
    for (int slot = candidates.next(0); slot >= 0; slot = candidates.next(slot + 1)) {
      candidates.depth[slot] = Math.min(depth[slot], chain.length());
    }
  }

  @Override
  public void searchOthers(Chain chain, long[] others, int[] depths) {
    for (int slot = 0; slot < slots; slot++) {
      if ((others[slot >>> 6] & (1L << slot)) != 0) {
        depths[slot] = Math.min(depth[slot], chain.length());
      }
    }
  }

  /** Blocks that engines have reported, by slot; all of their depths where nothing is said. */
  final Map<Integer, Integer> reported = new HashMap<>();

  @Override
  public int reported(Chain chain, int slot) {
    return Math.min(reported.getOrDefault(slot, depth[slot]), chain.length());
  }

  /** Shares of what is pulled that is found, by slot. */
  final Map<Integer, Double> pullYields = new HashMap<>();

  @Override
  public double pullYield(int slot) {
    return pullYields.getOrDefault(slot, 1.0);
  }

  /** Blocks that a cache layer has reported as stored, by slot. */
  final Map<Integer, Integer> hinted = new HashMap<>();

  @Override
  public int hintedBlocks(Chain chain, int slot) {
    return Math.min(hinted.getOrDefault(slot, 0), chain.length());
  }

  /** Blocks in each tier, by slot; none where they are not known. */
  final Map<Integer, int[]> tiers = new HashMap<>();
  int tierReads;

  @Override
  public int tiers(Chain chain, int slot, int[] blocks) {
    tierReads++;
    int[] held = tiers.getOrDefault(slot, new int[0]);
    for (int tier = 0; tier < held.length; tier++) {
      blocks[tier] += held[tier];
    }
    return Arrays.stream(held).sum();
  }

  @Override
  public synchronized void cancel(int slot, Booking booking) {
    inFlight[slot]--;
    pendingTokens[slot] -= booking.uncachedTokens();
    queueMs[slot] -= booking.prefillMicros() / 1e3;
    contextTokens[slot] -= booking.promptTokens();
    int at = bookedSlots.lastIndexOf(slot);
    bookedSlots.remove(/* index */ at);
    booked.remove(at);
  }

  @Override
  public synchronized boolean reserve(int slot, Booking booking) {
    if (!alive[slot] || inFlight[slot] >= workers[slot].maxInFlight()) {
      return false;
    }
    inFlight[slot]++;
    pendingTokens[slot] += booking.uncachedTokens();
    queueMs[slot] += booking.prefillMicros() / 1e3;
    contextTokens[slot] += booking.promptTokens();
    booked.add(booking);
    bookedSlots.add(slot);
    return true;
  }
}
