package io.kvasir.lab;

import io.kvasir.index.Chain;
import io.kvasir.routing.Booking;
import io.kvasir.routing.Candidates;
import io.kvasir.routing.Fleet;
import io.kvasir.routing.Role;
import io.kvasir.routing.Worker;
import io.kvasir.telemetry.DecisionRecord.CandidateRecord;
import java.net.URI;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;

/**
 * The fleet as recorded with a decision. Decisions with the same workers share one table of them, so that plugins which
 * keep state per fleet do so as in service. One thread.
 */
final class RecordedFleet implements Fleet {
  /** Tables kept; one more and all are dropped, and with them the plugins' state. */
  private static final int TABLES = 64;

  private static final int MAX_SLOTS = 256;
  private static final URI NOWHERE = URI.create("http://recorded");

  private final Map<List<Worker>, Worker[]> tables = new LinkedHashMap<>();
  private List<CandidateRecord> candidates = List.of();
  private Worker[] table = new Worker[64];

  /**
   * Loads the fleet of another decision.
   *
   * @throws IllegalArgumentException when no cell can have had it
   */
  void load(List<CandidateRecord> seen) {
    int maxSlot = 0;
    for (CandidateRecord candidate : seen) {
      if (candidate.slot() < 0 || candidate.slot() >= MAX_SLOTS) {
        throw new IllegalArgumentException("worker " + candidate.worker() + " is in slot " + candidate.slot());
      }
      maxSlot = Math.max(maxSlot, candidate.slot());
    }
    List<Worker> workers = seen.stream().map(RecordedFleet::worker).toList();
    if (tables.size() >= TABLES) {
      tables.clear();
    }
    int slots = LabFleet.slotsFor(maxSlot + 1);
    table = tables.computeIfAbsent(workers, _ -> table(workers, slots));
    candidates = seen;
  }

  @Override
  public int slots() {
    return table.length;
  }

  @Override
  public void snapshot(Candidates into) {
    into.workers = table;
    Arrays.fill(into.live, 0);
    for (CandidateRecord candidate : candidates) {
      int slot = candidate.slot();
      into.live[slot >>> 6] |= 1L << slot;
      into.inFlight[slot] = candidate.inFlight();
      into.pendingTokens[slot] = candidate.pendingTokens();
      into.queueMs[slot] = candidate.queueMs();
      into.contextTokens[slot] = candidate.contextTokens();
      into.waiting[slot] = Objects.requireNonNullElse(candidate.waiting(), Candidates.UNKNOWN);
      into.kvUse[slot] = Objects.requireNonNullElse(candidate.kvUse(), (double) Candidates.UNKNOWN);
      into.evictionLoss[slot] = Objects.requireNonNullElse(candidate.evictionLoss(), 0.0);
    }
  }

  @Override
  public void search(Chain chain, Candidates into) {
    for (CandidateRecord candidate : candidates) {
      into.depth[candidate.slot()] = Math.min(candidate.depth(), chain.length());
    }
  }

  @Override
  public boolean reserve(int slot, Booking booking) {
    for (CandidateRecord candidate : candidates) {
      if (candidate.slot() == slot) {
        return candidate.inFlight() < candidate.facts().maxInFlight();
      }
    }
    return false;
  }

  /** Does nothing: the recorded load includes all bookings. */
  @Override
  public void cancel(int slot, Booking booking) {}

  private static Worker[] table(List<Worker> workers, int slots) {
    Worker[] table = new Worker[slots];
    workers.forEach(worker -> table[worker.slot()] = worker);
    return table;
  }

  private static Worker worker(CandidateRecord candidate) {
    var facts = candidate.facts();
    return new Worker(
        candidate.worker(),
        facts.pod(),
        NOWHERE,
        facts.rank(),
        facts.ranks(),
        candidate.slot(),
        Role.valueOf(facts.role().toUpperCase(Locale.ROOT)),
        new LinkedHashSet<>(facts.models()),
        facts.labels(),
        facts.maxInFlight(),
        facts.engine(),
        null);
  }
}
