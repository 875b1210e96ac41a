package io.kvasir.cell.view;

import io.kvasir.cell.EngineReport;
import io.kvasir.cell.worker.ChangeCounter;
import io.kvasir.cell.worker.Member;
import io.kvasir.routing.Candidates;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * What decisions read of a cell's workers that changes seldom, as columns by slot: a decision copies them instead of
 * asking each worker's health, circuit and engine anew. What is booked changes with every decision and is not among
 * them. Never changed; made anew when the {@link ChangeCounter} is another one.
 */
final class HealthSnapshot {
  private final MemberTable table;
  private final long revision;

  /** Who gets requests while his circuit passes them. */
  private final long[] healthy;

  /** Whose circuit has been broken: whether it passes requests again depends on the time. Null when none has. */
  private final long @Nullable [] tripped;

  private final int[] waiting;
  private final double[] kvUse;

  /** What the index's word on each is worth; null while it is good on everybody. */
  private final double @Nullable [] trust;

  /**
   * The conditions of all who are seated.
   *
   * @param revision read before this is called
   */
  HealthSnapshot(MemberTable seating, long revision) {
    int slots = seating.slots();
    long[] brokenBits = new long[slots >>> 6];
    double[] worth = new double[slots];
    boolean anyBroken = false;
    boolean anyDoubt = false;
    this.table = seating;
    this.revision = revision;
    this.healthy = new long[slots >>> 6];
    this.waiting = new int[slots];
    this.kvUse = new double[slots];
    Arrays.fill(waiting, Candidates.UNKNOWN);
    Arrays.fill(kvUse, Candidates.UNKNOWN);
    Arrays.fill(worth, 1);
    for (int slot = 0; slot < slots; slot++) {
      Member member = seating.members()[slot];
      if (member == null) {
        continue;
      }
      if (member.isHealthy()) {
        healthy[slot >>> 6] |= 1L << slot;
      }
      if (!member.health().breaker().isClosed()) {
        brokenBits[slot >>> 6] |= 1L << slot;
        anyBroken = true;
      }
      EngineReport report = member.report();
      waiting[slot] = report.waiting();
      kvUse[slot] = report.kvUse();
      worth[slot] = member.accuracy().trust();
      anyDoubt |= worth[slot] < 1;
    }
    this.tripped = anyBroken ? brokenBits : null;
    this.trust = anyDoubt ? worth : null;
  }

  /** Whether these are still the conditions of those who are seated. */
  @SuppressWarnings("ReferenceEquality") // a seating is replaced, never changed
  boolean isCurrent(MemberTable seated, long now) {
    return table == seated && revision == now;
  }

  /** Fills in who may be chosen, and the columns that come from here. */
  void copyTo(Candidates candidates) {
    System.arraycopy(healthy, 0, candidates.live, 0, healthy.length);
    System.arraycopy(waiting, 0, candidates.waiting, 0, waiting.length);
    System.arraycopy(kvUse, 0, candidates.kvUse, 0, kvUse.length);
    if (tripped != null) {
      removeOpenCircuits(tripped, candidates);
    }
  }

  private void removeOpenCircuits(long[] circuits, Candidates candidates) {
    for (int slot = candidates.next(0); slot >= 0; slot = candidates.next(slot + 1)) {
      Member member = table.members()[slot];
      if ((circuits[slot >>> 6] & (1L << slot)) != 0 && member != null && !member.health().breaker().permits()) {
        candidates.remove(slot);
      }
    }
  }

  /** Believes the index on each worker as far as its answers have confirmed it. */
  void discount(Candidates candidates) {
    if (trust != null) {
      for (int slot = 0; slot < trust.length; slot++) {
        candidates.depth[slot] = (int) (candidates.depth[slot] * trust[slot]);
      }
    }
  }
}
