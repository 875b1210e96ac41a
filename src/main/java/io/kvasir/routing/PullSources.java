package io.kvasir.routing;

import io.kvasir.index.Chain;
import io.kvasir.routing.KvTransfer.TransferDomain;
import io.kvasir.routing.cost.FleetCosts;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The workers of a fleet that pull KV blocks from each other, and what each of them would take of a prompt: from the
 * worker of its transfer domain that has the most of it, where that costs less than to compute it,
 *
 * <pre>transfer(m) + y·P(u − m) + (1 − y)·P(u) &lt; P(u)</pre>
 *
 * <p>u are the tokens that the worker has not cached, m those of them that the other one has, and y the share that is
 * found there: engines serve others from their host memory, of which their events need not tell. Only what the other
 * one's events have reported counts: what it was just sent it may not have computed yet. That it may not get another
 * request does not matter: a worker without a place is whose prefixes others want most.
 *
 * <p>Immutable and thread-safe.
 */
final class PullSources {
  private static final int NONE = -1;

  /** Workers of a domain that are looked at block by block. */
  private static final int MAX_LOOKS = 4;

  /** The transfer domain of each slot, {@link #NONE} for a worker that does not pull. */
  private final int[] domains;

  private final int count;

  private PullSources(int[] domains, int count) {
    this.domains = domains;
    this.count = count;
  }

  /** Those of a table of workers. */
  static PullSources of(@Nullable Worker[] table) {
    int[] domains = new int[table.length];
    Map<TransferDomain, Integer> numbers = new HashMap<>();
    for (int slot = 0; slot < table.length; slot++) {
      Worker worker = table[slot];
      KvTransfer transfer = worker == null ? null : worker.kvTransfer();
      domains[slot] =
          transfer == null || !transfer.dialect().pulls() || worker.role() != Role.BOTH ? NONE
              : numbers.computeIfAbsent(transfer.domain(), _ -> numbers.size());
    }
    return new PullSources(domains, numbers.size());
  }

  /** Whether none pulls. */
  boolean isEmpty() {
    return count == 0;
  }

  /** Notes which workers are well and have not failed the request, before filters take away who may not get it. */
  void note(Candidates candidates, Set<String> excluded) {
    for (int word = 0; word < candidates.sources.length; word++) {
      long bits = 0;
      for (long left = candidates.live[word]; left != 0; left &= left - 1) {
        int slot = (word << 6) + Long.numberOfTrailingZeros(left);
        boolean source = domains[slot] != NONE && !excluded.contains(candidates.workers[slot].id());
        bits |= source ? Long.lowestOneBit(left) : 0;
      }
      candidates.sources[word] = bits;
    }
  }

  /** Fills in what candidates can pull, after the search for what they hold themselves. */
  void fill(Fleet fleet, RoutingContext context, Candidates candidates, FleetCosts costs) {
    Chain chain = context.get(Slots.CHAIN);
    if (chain.length() == 0 || Slots.requestShape(context).severalPrompts()) {
      return;
    }
    searchFiltered(fleet, chain, candidates);
    PromptSize prompt = PromptSize.of(context);
    for (int domain = 0; domain < count; domain++) {
      fill(fleet, chain, candidates, costs, prompt, domain);
    }
  }

  /**
   * By the worker of a domain that has reported most. Those with the greatest depth are looked at, which counts what is
   * predicted, too: of several first those that have least to compute, which is what predictions are of.
   */
  private void fill(
      Fleet fleet, Chain chain, Candidates candidates, FleetCosts costs, PromptSize prompt, int domain) {
    int best = NONE;
    int reported = 0;
    for (int looks = 0; looks < MAX_LOOKS; looks++) {
      int source = deepest(candidates, domain);
      if (source == NONE || candidates.depth[source] <= reported) {
        break;
      }
      candidates.sources[source >>> 6] &= ~(1L << source);
      int blocks = Math.min(candidates.depth[source], fleet.reported(chain, source));
      if (blocks > reported) {
        best = source;
        reported = blocks;
      }
    }
    if (best != NONE) {
      fill(fleet, candidates, costs, prompt, best, reported);
    }
  }

  /** Finds what those hold that filters have taken away: {@link Candidates#sources} without the candidates. */
  private static void searchFiltered(Fleet fleet, Chain chain, Candidates candidates) {
    long[] filtered = candidates.sources.clone();
    long any = 0;
    for (int word = 0; word < filtered.length; word++) {
      filtered[word] &= ~candidates.live[word];
      any |= filtered[word];
    }
    if (any != 0) {
      fleet.searchOthers(chain, filtered, candidates.depth);
    }
  }

  /** The source that has most, and of several the one with least to compute; {@link #NONE} where none has anything. */
  private int deepest(Candidates candidates, int domain) {
    int deepest = NONE;
    int depth = 0;
    for (int word = 0; word < candidates.sources.length; word++) {
      for (long left = candidates.sources[word]; left != 0; left &= left - 1) {
        int slot = (word << 6) + Long.numberOfTrailingZeros(left);
        int its = domains[slot] == domain ? candidates.depth[slot] : 0;
        boolean idler = deepest != NONE && candidates.pendingTokens[slot] < candidates.pendingTokens[deepest];
        if (its > depth || (its == depth && its > 0 && idler)) {
          deepest = slot;
          depth = its;
        }
      }
    }
    return deepest;
  }

  private void fill(
      Fleet fleet, Candidates candidates, FleetCosts costs, PromptSize prompt, int source, int blocks) {
    int held = prompt.cached(blocks);
    double sourceYield = fleet.pullYield(source);
    for (int slot = candidates.next(0); slot >= 0; slot = candidates.next(slot + 1)) {
      int missing = held - prompt.cached(candidates.depth[slot]);
      if (domains[slot] == domains[source] && missing > 0) {
        KvTransfer transfer = Objects.requireNonNull(candidates.workers[slot].kvTransfer());
        int uncached = prompt.uncached(candidates.depth[slot]);
        double computingMs = costs.prefillMs(slot, uncached, prompt.tokens());
        double restMs = costs.prefillMs(slot, uncached - missing, prompt.tokens());
        double lost = 1 - Math.min(sourceYield, fleet.pullYield(slot));
        double pullMs = transfer.link().transferMs(missing) + lost * (computingMs - restMs);
        if (pullMs + restMs < computingMs) {
          candidates.pull(slot, held, source, pullMs);
        }
      }
    }
  }

  /** What a candidate pulls, null when that is nothing. */
  static @Nullable KvPull of(Candidates candidates, int slot) {
    int source = candidates.source[slot];
    if (source == NONE || candidates.loadable[slot] == 0) {
      return null;
    }
    Worker worker = candidates.workers[source];
    return KvPull.from(worker, Objects.requireNonNull(worker.kvTransfer()), candidates.loadable[slot]);
  }
}
