package io.kvasir.cell.view;

import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.events.ChunkHints;
import io.kvasir.cell.worker.Forecast;
import io.kvasir.cell.worker.Member;
import io.kvasir.cell.worker.WorkerLoad;
import io.kvasir.index.Chain;
import io.kvasir.routing.Booking;
import io.kvasir.routing.Candidates;
import io.kvasir.routing.Fleet;
import io.kvasir.routing.Passes;
import io.kvasir.routing.Planning;
import io.kvasir.routing.Selection;
import io.kvasir.routing.Worker;
import java.util.HashMap;
import java.util.Map;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A cell as one decision sees it: the same members from beginning to end, their load as it is. Where the prompt goes on
 * beyond what anybody holds, the decision keeps its {@link Siblings} waiting until it {@link #leave leaves}. Used by
 * one thread.
 */
public final class CellFleet implements Fleet {
  private final Seating seated;
  private final Conditions conditions;
  private final Siblings siblings;
  private final LongSupplier nanos;
  private Siblings.@Nullable Stripe stripe;
  private boolean anyFull;

  CellFleet(Seating seated, Conditions conditions, Siblings siblings, LongSupplier nanos) {
    this.seated = seated;
    this.conditions = conditions;
    this.siblings = siblings;
    this.nanos = nanos;
  }

  /** Who sits where in it. */
  Seating seated() {
    return seated;
  }

  @Override
  public int slots() {
    return seated.slots();
  }

  @Override
  public void snapshot(Candidates candidates) {
    candidates.workers = seated.workers();
    conditions.into(candidates, nanos);
    @Nullable WorkerLoad[] loads = seated.loads();
    for (int slot = 0; slot < loads.length; slot++) {
      WorkerLoad load = loads[slot];
      if (load != null) {
        int inFlight = load.inFlight();
        candidates.inFlight[slot] = inFlight;
        candidates.pendingTokens[slot] = load.pendingTokens();
        candidates.queueMs[slot] = load.queueMs();
        candidates.contextTokens[slot] = load.contextTokens();
        anyFull |= inFlight >= load.most();
      }
    }
  }

  /** A later pass of the same decision stays in the stripe of the first: siblings pass both or none. */
  @Override
  public void search(Chain chain, Candidates candidates) {
    int deepest = look(chain, candidates);
    while (stripe == null && deepest < chain.length()) {
      Siblings.Stripe entered = siblings.enter(chain.hashes()[deepest]);
      stripe = entered;
      if (!entered.again()) {
        break;
      }
      int deeper = Math.max(look(chain, candidates), entered.unseen(chain, candidates));
      if (deeper <= deepest) {
        break;
      }
      deepest = deeper;
      leave();
    }
    conditions.discount(candidates);
  }

  @Override
  public int tiers(Chain chain, int slot, int[] blocks) {
    return seated.index().tiers(chain, slot, blocks);
  }

  @Override
  public int hinted(Chain chain, int slot) {
    Member member = seated.members()[slot];
    ChunkHints hints = member == null ? null : member.hints();
    return hints == null ? 0 : hints.depth(chain);
  }

  /** Fills the depths and returns the greatest of a worker that has room. */
  private int look(Chain chain, Candidates candidates) {
    int deepest = seated.index().search(chain, candidates.live, candidates.depth);
    if (anyFull && deepest > 0) {
      deepest = 0;
      for (int slot = candidates.next(0); slot >= 0; slot = candidates.next(slot + 1)) {
        if (candidates.inFlight[slot] < candidates.workers[slot].maxInFlight()) {
          deepest = Math.max(deepest, candidates.depth[slot]);
        }
      }
    }
    return deepest;
  }

  /**
   * Whether the choice fell on a worker that has less of the prompt than one that was filled meanwhile, while
   * siblings may be making the same choice: then nothing is booked any more, and all look again.
   */
  boolean crowdedOut(Planning planning) {
    if (stripe != null || !(planning instanceof Planning.Made made)) {
      return false;
    }
    boolean crowded = false;
    for (Selection.Chosen chosen : made.chosen()) {
      crowded |= chosen.readsPrompt() && chosen.full() > 0 && chosen.depth() < chosen.blocks();
    }
    if (crowded) {
      made.chosen().forEach(chosen -> cancel(chosen.slot(), chosen.booking()));
    }
    return crowded;
  }

  void predicted(Forecast forecast, Chain chain, int slot) {
    if (stripe != null && forecast.prediction() != null) {
      stripe.predicted(forecast.prediction(), chain, slot);
    }
  }

  /** Lets the next sibling decide. */
  void leave() {
    if (stripe != null) {
      stripe.leave();
      stripe = null;
    }
  }

  @Override
  public boolean reserve(int slot, Booking booking) {
    Member member = seated.members()[slot];
    return member != null && member.routable() && member.load().book(booking);
  }

  @Override
  public void cancel(int slot, Booking booking) {
    WorkerLoad load = booked(slot).load();
    load.settle(booking);
    load.release(booking);
  }

  /** Who was chosen, and load booked on. */
  Member booked(int slot) {
    Member member = seated.members()[slot];
    if (member == null) {
      throw new IllegalStateException("a worker was chosen in slot " + slot + " and nobody sits there");
    }
    return member;
  }

  /** The one step that is wanted anew, with those of the other steps' workers that are still here. */
  Passes.@Nullable Again again(DecisionRequest request) {
    DecisionRequest.Again again = request.again();
    if (again == null) {
      return null;
    }
    Map<String, Worker> placed = new HashMap<>();
    for (Worker worker : seated.workers()) {
      if (worker != null) {
        again.placed().forEach((step, id) -> {
          if (worker.id().equals(id)) {
            placed.put(step, worker);
          }
        });
      }
    }
    return new Passes.Again(again.step(), placed);
  }
}
