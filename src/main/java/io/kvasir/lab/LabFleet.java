package io.kvasir.lab;

import io.kvasir.index.BlockIndex;
import io.kvasir.index.Chain;
import io.kvasir.routing.Booking;
import io.kvasir.routing.Candidates;
import io.kvasir.routing.Fleet;
import io.kvasir.routing.KvTransfer;
import io.kvasir.routing.Role;
import io.kvasir.routing.Worker;
import io.kvasir.routing.cost.EngineInstance;
import java.net.URI;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The fleet of a run, as routing sees it: an index and a ledger of booked load, kept as a cell keeps them (a prompt is
 * pending until its first token, its context booked until its last). One thread.
 */
final class LabFleet implements Fleet {
  /** The cost of a KV transfer: 400 Gb/s RDMA, for a model of some 32B parameters. */
  static final KvTransfer.TransferCost LINK = new KvTransfer.TransferCost(6, 5);

  private static final KvTransfer TRANSFER =
      new KvTransfer(KvTransfer.Dialect.VLLM_NIXL, "", "lab", 0, "", 1, 1, LINK);

  private static final KvTransfer PULLS =
      new KvTransfer(KvTransfer.Dialect.VLLM_P2P, "", "lab", 0, "", 1, 1, LINK);

  /** The model that every worker serves. */
  static final String MODEL = "lab";

  private final int workers;
  private final int maxInFlight;
  private final BlockIndex index;
  private final Worker[] table;
  private final int[] inFlight;
  private final long[] pendingTokens;
  private final long[] pendingMicros;
  private final long[] contextTokens;
  private final boolean[] serves;
  private long bookedMicros;
  private long bookings;

  /**
   * An idle fleet.
   *
   * @param engines the names by which the router knows the engines, by slot
   * @param pulls whether they pull from each other
   */
  LabFleet(Pools pools, List<String> engines, boolean pulls, int maxInFlight, BlockIndex index) {
    int workers = pools.size();
    this.workers = workers;
    this.maxInFlight = maxInFlight;
    this.index = index;
    this.table = new Worker[index.slots()];
    for (int slot = 0; slot < workers; slot++) {
      String id = "w" + slot;
      table[slot] =
          new Worker(
              id, id, URI.create("http://" + id), 0, 1, slot, role(pools, slot), Set.of(MODEL), Map.of(), maxInFlight,
              engines.get(slot), role(pools, slot) != Role.BOTH ? TRANSFER : pulls ? PULLS : null);
    }
    this.inFlight = new int[workers];
    this.pendingTokens = new long[workers];
    this.pendingMicros = new long[workers];
    this.contextTokens = new long[workers];
    this.serves = new boolean[workers];
    Arrays.fill(serves, true);
  }

  private static Role role(Pools pools, int slot) {
    return pools.isPrefill(slot) ? Role.PREFILL : pools.isDecode(slot) ? Role.DECODE : Role.BOTH;
  }

  /** The slots of the narrowest index for a number of workers. */
  static int slotsFor(int workers) {
    return workers <= 64 ? 64 : workers <= 128 ? 128 : 256;
  }

  /** A worker's engine. */
  EngineInstance engine(int slot) {
    return table[slot].instance();
  }

  /** The engines, by slot. */
  List<EngineInstance> engines() {
    return Arrays.stream(table).limit(workers).map(Worker::instance).toList();
  }

  @Override
  public int slots() {
    return table.length;
  }

  @Override
  public void snapshot(Candidates candidates) {
    candidates.workers = table;
    Arrays.fill(candidates.live, 0);
    candidates.evictionLoss = index.evictionLosses();
    for (int slot = 0; slot < workers; slot++) {
      candidates.live[slot >>> 6] |= serves[slot] ? 1L << slot : 0;
      candidates.inFlight[slot] = inFlight[slot];
      candidates.pendingTokens[slot] = pendingTokens[slot];
      candidates.queueMs[slot] = queueMs(slot);
      candidates.contextTokens[slot] = contextTokens[slot];
    }
  }

  @Override
  public void search(Chain chain, Candidates candidates) {
    index.search(chain, candidates.live, candidates.depth);
  }

  @Override
  public void searchOthers(Chain chain, long[] others, int[] depth) {
    index.search(chain, others, depth);
  }

  @Override
  public int reported(Chain chain, int slot) {
    return index.reported(chain, slot);
  }

  /** The slot of a worker. */
  int slot(String worker) {
    for (int slot = 0; slot < workers; slot++) {
      if (table[slot].id().equals(worker)) {
        return slot;
      }
    }
    throw new IllegalArgumentException("no worker " + worker);
  }

  /** Leading tokens of a prompt that some worker holds. */
  int heldTokens(Chain chain) {
    long[] all = new long[table.length >>> 6];
    for (int slot = 0; slot < workers; slot++) {
      all[slot >>> 6] |= 1L << slot;
    }
    int[] depths = new int[table.length];
    int _ = index.search(chain, all, depths);
    return Arrays.stream(depths).max().orElse(0) * chain.blockSize();
  }

  @Override
  public boolean reserve(int slot, Booking booking) {
    if (inFlight[slot] >= maxInFlight) {
      return false;
    }
    inFlight[slot]++;
    pendingTokens[slot] += booking.uncachedTokens();
    pendingMicros[slot] += booking.prefillMicros();
    bookedMicros += booking.prefillMicros();
    bookings++;
    contextTokens[slot] += booking.promptTokens();
    return true;
  }

  @Override
  public void cancel(int slot, Booking booking) {
    settle(slot, booking);
    release(slot, booking);
    bookedMicros -= booking.prefillMicros();
    bookings--;
  }

  /** Whether a worker is given requests. */
  void serves(int slot, boolean does) {
    serves[slot] = does;
  }

  /** The requests in flight at a worker. */
  int inFlight(int slot) {
    return inFlight[slot];
  }

  /** The prompt tokens of those. */
  long contextTokens(int slot) {
    return contextTokens[slot];
  }

  /** How many requests were booked. */
  long bookings() {
    return bookings;
  }

  /** The estimated milliseconds of prefill of all requests that were booked. */
  double bookedMs() {
    return bookedMicros / 1e3;
  }

  /** The estimated milliseconds of pending prefill. */
  double queueMs(int slot) {
    return pendingMicros[slot] / 1e3;
  }

  /** Takes a booked prompt off the pending prefill: it has been computed. */
  void settle(int slot, Booking booking) {
    pendingTokens[slot] -= booking.uncachedTokens();
    pendingMicros[slot] -= booking.prefillMicros();
  }

  /** Releases a settled booking. */
  void release(int slot, Booking booking) {
    contextTokens[slot] -= booking.promptTokens();
    inFlight[slot]--;
  }
}
