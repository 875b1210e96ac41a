package io.kvasir.cell.view;

import io.kvasir.cell.EngineReport;
import io.kvasir.cell.worker.ChangeCounter;
import io.kvasir.cell.worker.Member;
import io.kvasir.cell.worker.WorkerHealth;
import io.kvasir.http.CircuitBreaker;
import io.kvasir.routing.Candidates;
import java.util.Arrays;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * What decisions read of a cell's workers that changes seldom, as columns by slot: a decision copies them instead of
 * reading each worker's health, circuit breaker and engine report again. What is booked changes with every decision and
 * is not among them. Immutable; replaced when the {@link ChangeCounter} has changed.
 */
final class HealthSnapshot {
  private final MemberTable table;
  private final long revision;

  /** A bit for each worker that is healthy as far as its circuit breaker does not matter. */
  private final long[] healthy;

  /**
   * A bit for each worker whose breaker has tripped: whether it permits requests depends on the time. Null when none
   * has.
   */
  private final long @Nullable [] tripped;

  /**
   * A bit for each worker whose hand-overs have failed: whether it computes prompts for others depends on the time.
   * Null when none has.
   */
  private final long @Nullable [] handOversTripped;

  private final int[] waiting;
  private final double[] kvUse;

  /** The trust in the index of each worker, 0 to 1; null while it is 1 for all. */
  private final double @Nullable [] trust;

  /** A bit for each worker that may go on from less than the index has for it; null for none. */
  private final long @Nullable [] limited;

  /**
   * The health of all members of a table.
   *
   * @param revision read before this is called
   */
  HealthSnapshot(MemberTable table, long revision) {
    int slots = table.slots();
    long[] trippedBits = new long[slots >>> 6];
    long[] handOverBits = new long[slots >>> 6];
    double[] trustBySlot = new double[slots];
    long[] limitedBits = new long[slots >>> 6];
    boolean anyTripped = false;
    boolean anyHandOver = false;
    boolean anyLimited = false;
    boolean anyDoubt = false;
    this.table = table;
    this.revision = revision;
    this.healthy = new long[slots >>> 6];
    this.waiting = new int[slots];
    this.kvUse = new double[slots];
    Arrays.fill(waiting, Candidates.UNKNOWN);
    Arrays.fill(kvUse, Candidates.UNKNOWN);
    Arrays.fill(trustBySlot, 1);
    for (int slot = 0; slot < slots; slot++) {
      Member member = table.members()[slot];
      if (member == null) {
        continue;
      }
      if (member.isHealthy()) {
        healthy[slot >>> 6] |= 1L << slot;
      }
      if (!member.health().breaker().isClosed()) {
        trippedBits[slot >>> 6] |= 1L << slot;
        anyTripped = true;
      }
      if (!member.health().handOvers().isClosed()) {
        handOverBits[slot >>> 6] |= 1L << slot;
        anyHandOver = true;
      }
      if (member.cache().isLimited()) {
        limitedBits[slot >>> 6] |= 1L << slot;
        anyLimited = true;
      }
      EngineReport report = member.report();
      waiting[slot] = report.waiting();
      kvUse[slot] = report.kvUse();
      trustBySlot[slot] = member.accuracy().trust();
      anyDoubt |= trustBySlot[slot] < 1;
    }
    this.tripped = anyTripped ? trippedBits : null;
    this.handOversTripped = anyHandOver ? handOverBits : null;
    this.trust = anyDoubt ? trustBySlot : null;
    this.limited = anyLimited ? limitedBits : null;
  }

  /** Whether this is still the health of the members of a table. */
  @SuppressWarnings("ReferenceEquality") // a table is replaced, never changed
  boolean isCurrent(MemberTable current, long now) {
    return table == current && revision == now;
  }

  /** Fills in the bits of workers that may be chosen, and the columns of this snapshot. */
  void copyTo(Candidates candidates) {
    System.arraycopy(healthy, 0, candidates.live, 0, healthy.length);
    System.arraycopy(waiting, 0, candidates.waiting, 0, waiting.length);
    System.arraycopy(kvUse, 0, candidates.kvUse, 0, kvUse.length);
    candidates.notHandingOver =
        handOversTripped == null ? null : open(handOversTripped, WorkerHealth::handOvers);
    long[] leftOut = leftOut();
    if (leftOut != null) {
      for (int word = 0; word < leftOut.length; word++) {
        candidates.live[word] &= ~leftOut[word];
      }
    }
  }

  /** Whether a worker may be chosen now. */
  boolean isRoutable(int slot) {
    long[] leftOut = leftOut();
    return has(healthy, slot) && (leftOut == null || !has(leftOut, slot));
  }

  /** Whether enough workers are left without it that could do what a worker does. */
  boolean canSpare(int slot) {
    long[] open = tripped == null ? new long[healthy.length] : open(tripped, WorkerHealth::breaker);
    return mayLeaveOut(slot, open, has(healthy, slot) && !has(open, slot) ? 1 : 0);
  }

  /**
   * A bit for each worker whose open circuit keeps requests from it; null when none has tripped. Error answers may be
   * clients' doing, so they never cost a model more than two thirds of its workers: where fewer are left that could do
   * the same, open circuits do not count.
   */
  private long @Nullable [] leftOut() {
    if (tripped == null) {
      return null;
    }
    long[] open = open(tripped, WorkerHealth::breaker);
    long[] leftOut = open.clone();
    for (int word = 0; word < open.length; word++) {
      for (long bits = open[word]; bits != 0; bits &= bits - 1) {
        int slot = (word << 6) + Long.numberOfTrailingZeros(bits);
        if (!mayLeaveOut(slot, open, 0)) {
          leftOut[word] &= ~(1L << slot);
        }
      }
    }
    return leftOut;
  }

  /** Whether at least a third of a worker's healthy peers would get requests if {@code fewer} of them were left out. */
  private boolean mayLeaveOut(int slot, long[] open, int fewer) {
    long[] peers = table.peers()[slot];
    int able = 0;
    int left = -fewer;
    for (int word = 0; word < peers.length; word++) {
      long bits = peers[word] & healthy[word];
      able += Long.bitCount(bits);
      left += Long.bitCount(bits & ~open[word]);
    }
    return left > 0 && 3 * left >= able;
  }

  /** A bit for each of those workers whose circuit permits nothing now. */
  private long[] open(long[] those, Function<WorkerHealth, CircuitBreaker> circuit) {
    long[] open = new long[those.length];
    for (int word = 0; word < open.length; word++) {
      for (long bits = those[word]; bits != 0; bits &= bits - 1) {
        Member member = table.members()[(word << 6) + Long.numberOfTrailingZeros(bits)];
        if (member != null && !circuit.apply(member.health()).permits()) {
          open[word] |= Long.lowestOneBit(bits);
        }
      }
    }
    return open;
  }

  private static boolean has(long[] bits, int slot) {
    return (bits[slot >>> 6] & (1L << slot)) != 0;
  }

  /**
   * Shortens the depth of engines to what they can go on from. Looks up some blocks of each hybrid model's: as many as
   * the windows are long where that is at the depth itself.
   */
  void shorten(Candidates candidates) {
    for (int word = 0; limited != null && word < limited.length; word++) {
      for (long bits = limited[word] & candidates.live[word]; bits != 0; bits &= bits - 1) {
        int slot = (word << 6) + Long.numberOfTrailingZeros(bits);
        Member member = table.members()[slot];
        if (member != null) {
          candidates.depth[slot] = member.cache().resumable(candidates.chain(slot), candidates.depth[slot]);
        }
      }
    }
  }

  /** Whether the depth of a worker is what its index has. */
  boolean isTrusted(int slot) {
    return trust == null || trust[slot] == 1;
  }

  /** Discounts the depth of each worker by the trust in its index. */
  void discount(Candidates candidates) {
    if (trust != null) {
      for (int slot = 0; slot < trust.length; slot++) {
        candidates.depth[slot] = (int) (candidates.depth[slot] * trust[slot]);
      }
    }
  }
}
