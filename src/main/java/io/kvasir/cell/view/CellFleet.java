package io.kvasir.cell.view;

import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.LearntEngines;
import io.kvasir.cell.events.ChunkHints;
import io.kvasir.cell.worker.HitPrediction;
import io.kvasir.cell.worker.Member;
import io.kvasir.cell.worker.WorkerLoad;
import io.kvasir.index.BlockHash;
import io.kvasir.index.Chain;
import io.kvasir.index.Rendition;
import io.kvasir.routing.Booking;
import io.kvasir.routing.Candidates;
import io.kvasir.routing.Fleet;
import io.kvasir.routing.PlanResult;
import io.kvasir.routing.PlanningSession;
import io.kvasir.routing.Selection;
import io.kvasir.routing.Worker;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A cell as one decision sees it: the same members from beginning to end, their load as it is. Where the prompt goes on
 * beyond what any worker holds, the decision locks its stripe of {@link PrefixStripes} until {@link #release}.
 * Used by one thread.
 */
public final class CellFleet implements Fleet {
  private final MemberTable table;
  private final HealthSnapshot health;
  private final PrefixStripes stripes;
  private final LearntEngines learntEngines;
  private PrefixStripes.@Nullable Stripe stripe;
  private boolean anyFull;

  CellFleet(MemberTable seated, HealthSnapshot conditions, PrefixStripes siblings, LearntEngines learnt) {
    this.table = seated;
    this.health = conditions;
    this.stripes = siblings;
    this.learntEngines = learnt;
  }

  /** Who sits where in it. */
  MemberTable table() {
    return table;
  }

  @Override
  public int slots() {
    return table.slots();
  }

  @Override
  public void snapshot(Candidates candidates) {
    candidates.workers = table.workers();
    health.copyTo(candidates);
    candidates.evictionLoss = table.index().evictionLosses();
    @Nullable WorkerLoad[] loads = table.loads();
    // Local, since after each volatile read the compiler would read the fields again.
    int[] inFlight = candidates.inFlight;
    long[] pendingTokens = candidates.pendingTokens;
    double[] queueMs = candidates.queueMs;
    long[] contextTokens = candidates.contextTokens;
    int leastRoom = Integer.MAX_VALUE;
    for (int slot = 0; slot < loads.length; slot++) {
      WorkerLoad load = loads[slot];
      if (load != null) {
        int booked = load.inFlight();
        inFlight[slot] = booked;
        pendingTokens[slot] = load.pendingTokens();
        queueMs[slot] = load.queueMs();
        contextTokens[slot] = load.contextTokens();
        leastRoom = Math.min(leastRoom, load.maxInFlight() - booked);
      }
    }
    anyFull = leastRoom <= 0;
  }

  /** A later pass of the same decision stays in the stripe of the first: siblings pass both or none. */
  @Override
  public void search(Chain chain, Candidates candidates) {
    if (!candidates.renditions().isEmpty()) {
      assignRenditions(candidates);
    }
    int deepest = look(chain, candidates);
    while (stripe == null && deepest < chain.length()) {
      PrefixStripes.Stripe entered = stripes.lock(chain.hashes()[deepest]);
      stripe = entered;
      if (!entered.isSameBlock()) {
        break;
      }
      int deeper = Math.max(look(chain, candidates), entered.addPending(candidates));
      if (deeper <= deepest) {
        break;
      }
      deepest = deeper;
      release();
    }
    leaveOutNextEvicted(candidates);
    health.shorten(candidates);
    health.discount(candidates);
  }

  /**
   * Shortens the depth of workers that will have evicted more of the prompt at its turn. Engines evict what was used
   * least recently, each prompt from its end (vLLM's queue of free blocks; SGLang's and TensorRT-LLM's leaves): where
   * the block behind those that a worker holds is the one that it evicted last, they are next, and as many go as the
   * requests before this one will store that are on their way.
   */
  private void leaveOutNextEvicted(Candidates candidates) {
    long[] latest = table.index().latestEvicted();
    if (latest == null) {
      return;
    }
    int[] depth = candidates.depth;
    for (int slot = 0; slot < latest.length; slot++) {
      int held = depth[slot];
      if (held > 0 && isNextEvicted(latest[slot], candidates.chain(slot).hashes(), held) && candidates.has(slot)) {
        depth[slot] = Math.max(0, held - member(slot).cache().blocks().predicted());
      }
    }
  }

  private static boolean isNextEvicted(long latestEvicted, long[] hashes, int held) {
    return held < hashes.length && latestEvicted == hashes[held];
  }

  /**
   * Whether a chosen worker holds another part of the prompt than it was chosen for. It holds more when another
   * decision predicted that meanwhile: one of a prompt that begins alike, and is new in another block, as some other
   * worker holds what both have in common. It holds less when its engine's next event tells that it was evicted.
   */
  boolean isOutdated(HitPrediction made, Chain chain, int slot) {
    if (latestEvicted(slot) != BlockHash.NONE && !made.isPlaced()) {
      member(slot).cache().blocks().awaitWrite();
    }
    if (made.reported() && (made.found() < made.depth() || made.held() < made.depth())) {
      return true;
    }
    return made.found() > made.depth() && health.isTrusted(slot)
        && !isNextEvicted(latestEvicted(slot), chain.hashes(), made.held());
  }

  private long latestEvicted(int slot) {
    long[] latest = table.index().latestEvicted();
    return latest == null ? BlockHash.NONE : latest[slot];
  }

  @Override
  public void searchOthers(Chain chain, long[] slots, int[] depth) {
    int _ = table.index().search(chain, slots, depth);
  }

  @Override
  public int reported(Chain chain, int slot) {
    return member(slot).cache().confirmed(chain, table.index().reported(chain, slot));
  }

  @Override
  public double pullYield(int slot) {
    return member(slot).pullYield();
  }

  @Override
  public int tiers(Chain chain, int slot, int[] blocks) {
    return table.index().tiers(chain, slot, blocks);
  }

  @Override
  public int hintedBlocks(Chain chain, int slot) {
    Member member = table.members()[slot];
    ChunkHints hints = member == null ? null : member.cache().hints();
    return hints == null ? 0 : hints.depth(chain);
  }

  /** Fills the depths and returns the greatest of a worker that has room. */
  private int look(Chain chain, Candidates candidates) {
    int deepest =
        candidates.renditions().isEmpty()
            ? table.index().search(chain, candidates.live, candidates.depth)
            : lookForRenditions(chain, candidates);
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

  private void assignRenditions(Candidates candidates) {
    for (int slot = candidates.next(0); slot >= 0; slot = candidates.next(slot + 1)) {
      int its = rendition(candidates.workers[slot], candidates.renditions());
      if (its >= 0) {
        candidates.preparedAs(slot, its);
      }
    }
  }

  /** Looks for each candidate by the chain that its engine makes. */
  private int lookForRenditions(Chain chain, Candidates candidates) {
    List<Rendition> renditions = candidates.renditions();
    long[] rest = candidates.live.clone();
    int deepest = 0;
    for (int i = 0; i < renditions.size(); i++) {
      long[] its = new long[rest.length];
      for (int slot = candidates.next(0); slot >= 0; slot = candidates.next(slot + 1)) {
        its[slot >>> 6] |= candidates.isPreparedAs(slot, i) ? 1L << slot : 0;
      }
      deepest = Math.max(deepest, table.index().search(renditions.get(i).chain(), its, candidates.depth));
      for (int word = 0; word < rest.length; word++) {
        rest[word] &= ~its[word];
      }
    }
    return Math.max(deepest, table.index().search(chain, rest, candidates.depth));
  }

  /** Which rendition a worker's engine makes of a prompt, -1 for none: it makes of it what most do. */
  private int rendition(Worker worker, List<Rendition> renditions) {
    String preparation = learntEngines.of(worker.pod()).preparation();
    for (int i = 0; i < renditions.size(); i++) {
      if (renditions.get(i).preparation().equals(preparation)) {
        return i;
      }
    }
    return -1;
  }

  /** A prompt's blocks as a worker's engine prepares it. */
  Chain chain(DecisionRequest.Prompt prompt, Worker worker) {
    int its = prompt.renditions().isEmpty() ? -1 : rendition(worker, prompt.renditions());
    return its < 0 ? prompt.chain() : prompt.renditions().get(its).chain();
  }

  /**
   * Whether the choice fell on a worker that has less of the prompt than one that was filled meanwhile, while
   * siblings may be making the same choice: then nothing is booked any more, and all look again.
   */
  boolean lostRace(PlanResult planning) {
    if (stripe != null || !(planning instanceof PlanResult.PlanFound made)) {
      return false;
    }
    boolean crowded = false;
    for (Selection.Chosen chosen : made.chosen()) {
      crowded |= chosen.readsPrompt() && chosen.full() > 0 && chosen.depth() < chosen.blocks();
    }
    if (crowded) {
      cancel(made);
    }
    return crowded;
  }

  /** Takes back what has been booked for a plan. */
  void cancel(PlanResult planning) {
    if (planning instanceof PlanResult.PlanFound made) {
      made.chosen().forEach(chosen -> cancel(chosen.slot(), chosen.booking()));
    }
  }

  void predicted(HitPrediction forecast, Chain chain, int slot) {
    if (stripe != null && forecast.prediction() != null) {
      stripe.predicted(forecast.prediction(), chain, slot);
    }
  }

  /** Lets the next sibling decide. */
  void release() {
    if (stripe != null) {
      stripe.unlock();
      stripe = null;
    }
  }

  @Override
  public boolean reserve(int slot, Booking booking) {
    Member member = table.members()[slot];
    return member != null && member.isHealthy() && member.load().book(booking);
  }

  @Override
  public void cancel(int slot, Booking booking) {
    member(slot).load().cancel(booking);
  }

  /** The member in the slot of a chosen worker, to book load on. */
  Member member(int slot) {
    Member member = table.members()[slot];
    if (member == null) {
      throw new IllegalStateException("a worker was chosen in slot " + slot + " and it is empty");
    }
    return member;
  }

  /** The member of an id, null when it is none any more. */
  @Nullable Member member(String worker) {
    for (Member member : table.members()) {
      if (member != null && member.worker().id().equals(worker)) {
        return member;
      }
    }
    return null;
  }

  /** The health of its members. */
  HealthSnapshot health() {
    return health;
  }

  /** The one step to replan, with those of the other steps' workers that are still members; null for a whole plan. */
  PlanningSession.@Nullable StepReplan replacement(DecisionRequest request) {
    DecisionRequest.StepReplacement replacement = request.constraints().replacement();
    if (replacement == null) {
      return null;
    }
    Map<String, Worker> placed = new HashMap<>();
    for (Worker worker : table.workers()) {
      if (worker != null) {
        replacement.placed().forEach((step, id) -> {
          if (worker.id().equals(id)) {
            placed.put(step, worker);
          }
        });
      }
    }
    return new PlanningSession.StepReplan(replacement.step(), placed);
  }
}
