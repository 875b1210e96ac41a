package io.kvasir.cell;

import io.kvasir.index.BlockIndex;
import io.kvasir.index.Chain;
import io.kvasir.routing.Booking;
import io.kvasir.routing.Candidates;
import io.kvasir.routing.Fleet;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Selection;
import io.kvasir.routing.Selector;
import io.kvasir.routing.Slots;
import io.kvasir.routing.Worker;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A cell as the threads of its home node see it: they decide against it inline, each on its own, and
 * nothing here waits. The members stand in an array that is replaced at each change, so a decision sees
 * one set of them from beginning to end.
 */
final class CellView {
  private final String cell;
  private final BlockIndex index;
  private final CellServices services;
  private final Map<String, Selector> selectors;
  private volatile Seating seating;

  /** Who sits where, and the same as the table of workers that candidates refer to. Never changed. */
  private record Seating(@Nullable Member[] members, @Nullable Worker[] workers) {
    Seating with(int slot, @Nullable Member member) {
      @Nullable Member[] changedMembers = members.clone();
      @Nullable Worker[] changedWorkers = workers.clone();
      changedMembers[slot] = member;
      changedWorkers[slot] = member == null ? null : member.worker();
      return new Seating(changedMembers, changedWorkers);
    }
  }

  CellView(String cell, BlockIndex index, CellServices services) {
    this.cell = cell;
    this.index = index;
    this.services = services;
    this.selectors = services.profiles().selectors();
    this.seating = new Seating(new @Nullable Member[index.slots()], new @Nullable Worker[index.slots()]);
    services.metrics().watch(cell, index, this);
  }

  @Nullable Member[] members() {
    return seating.members();
  }

  /** Puts a member into a slot, or nobody. Called by the cell's actor alone. */
  void seat(int slot, @Nullable Member member) {
    seating = seating.with(slot, member);
  }

  /** Chooses a worker and books its load, in one step. */
  Decision decide(DecisionRequest request) {
    String profile = request.profile() == null ? services.profiles().standard() : request.profile();
    Selector selector = selectors.get(profile);
    if (selector == null) {
      return new Decision.NoWorker(
          Decision.Why.UNKNOWN_PROFILE,
          "there is no profile '%s'; there are: %s"
              .formatted(profile, String.join(", ", services.profiles().profiles().keySet())));
    }
    RoutingContext context =
        new RoutingContext(request.requestId(), request.model(), request.role(), request.excluded())
            .put(Slots.CHAIN, request.chain())
            .put(Slots.PROMPT_TOKENS, (long) request.promptTokens())
            .put(Slots.SESSION_KEY, request.sessionKey() == null ? "" : request.sessionKey());
    Now now = new Now();
    return switch (selector.select(now, context)) {
      case Selection.Chosen chosen -> chosen(chosen, now.booked(), request.model());
      case Selection.None none -> new Decision.NoWorker(why(none), none.detail());
    };
  }

  private static Decision chosen(Selection.Chosen chosen, Member booked, String model) {
    return new Decision.Chosen(
        chosen.worker(),
        new BookedReservation(booked, chosen.booking(), model),
        chosen.depth(),
        chosen.predictedCachedTokens(),
        chosen.reason(),
        booked.events().suspect());
  }

  private static Decision.Why why(Selection.None none) {
    return switch (none.want()) {
      // The roster knows the model, so what is missing of it is a worker that lives.
      case LIVE, ROLE, MODEL, UNTRIED -> Decision.Why.NONE_HEALTHY;
      case ROOM -> Decision.Why.ALL_FULL;
    };
  }

  /** The cell's workers with their state. */
  List<WorkerStatus> workers() {
    List<WorkerStatus> workers = new ArrayList<>();
    for (Member member : members()) {
      if (member != null) {
        workers.add(member.status(cell));
      }
    }
    return workers;
  }

  /** The fleet as one decision sees it. */
  private final class Now implements Fleet {
    private final Seating seated = seating;
    private @Nullable Member booked;

    @Override
    public int slots() {
      return seated.members().length;
    }

    @Override
    public void snapshot(Candidates candidates) {
      candidates.workers = seated.workers();
      @Nullable Member[] members = seated.members();
      Arrays.fill(candidates.live, 0);
      for (int slot = 0; slot < members.length; slot++) {
        Member member = members[slot];
        if (member == null || !member.routable()) {
          continue;
        }
        WorkerLoad load = member.load();
        candidates.live[slot >>> 6] |= 1L << slot;
        candidates.inFlight[slot] = load.inFlight();
        candidates.pendingTokens[slot] = load.pendingTokens();
        candidates.queueMs[slot] = load.queueMs();
        candidates.contextTokens[slot] = load.contextTokens();
      }
    }

    @Override
    public void search(Chain chain, Candidates candidates) {
      index.search(chain, candidates.live, candidates.depth);
    }

    @Override
    public boolean reserve(int slot, Booking booking) {
      Member member = seated.members()[slot];
      if (member == null || !member.routable() || !member.load().book(booking)) {
        return false;
      }
      booked = member;
      return true;
    }

    Member booked() {
      if (booked == null) {
        throw new IllegalStateException("a worker was chosen and nothing booked on it");
      }
      return booked;
    }
  }
}
