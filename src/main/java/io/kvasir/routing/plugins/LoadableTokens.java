package io.kvasir.routing.plugins;

import io.kvasir.index.Tier;
import io.kvasir.routing.CacheLayer;
import io.kvasir.routing.CacheMatches;
import io.kvasir.routing.CacheMatches.Match;
import io.kvasir.routing.Candidates;
import io.kvasir.routing.PerMembership;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Slots;
import io.kvasir.routing.Worker;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;

/** The tokens that candidates can load from a cache layer: fills {@link Candidates#loadable}. Thread-safe. */
final class LoadableTokens {
  private static final String NOTE = "lmcache";
  private static final Tier[] TIERS = Tier.values();

  private final PerMembership<Map<String, Integer>> slots = new PerMembership<>(LoadableTokens::slots);
  private final CacheLayer layer;

  LoadableTokens(CacheLayer layer) {
    this.layer = layer;
  }

  private static Map<String, Integer> slots(Worker[] table) {
    Map<String, Integer> slots = new HashMap<>();
    for (int slot = 0; slot < table.length; slot++) {
      if (table[slot] != null) {
        slots.put(table[slot].id(), slot);
      }
    }
    return slots;
  }

  /** Whether the cache layer has answered. */
  static boolean isKnown(RoutingContext context) {
    return context.get(Slots.CACHE_MATCHES).known();
  }

  /**
   * Fills {@link Candidates#loadable} from the cache layer's matches, with 0 when there is no answer.
   *
   * @return upper bound of the tokens that any worker can load: an answer has the longest prefix in the layer
   */
  int fill(RoutingContext context, Candidates candidates) {
    candidates.clearLoadable();
    int longest = 0;
    for (Match match : context.get(Slots.CACHE_MATCHES).matches()) {
      longest = Math.max(longest, match.tokens());
      if (match.worker().equals(CacheMatches.ANY_WORKER)) {
        for (int slot = 0; slot < candidates.slots(); slot++) {
          put(candidates, slot, match);
        }
      } else {
        Integer slot = slots.of(candidates).get(match.worker());
        if (slot != null) {
          put(candidates, slot, match);
        }
      }
    }
    return isKnown(context) ? longest : Integer.MAX_VALUE;
  }

  /**
   * Notes the tokens that the chosen worker can load in the decision's reason, and has the layer compare its answer
   * with its events.
   */
  void note(RoutingContext context, Candidates candidates, int slot) {
    CacheMatches matches = context.get(Slots.CACHE_MATCHES);
    if (matches.known()) {
      int found = 0;
      for (Match match : matches.matches()) {
        found = Math.max(found, match.tokens());
      }
      layer.compared(candidates.hintedBlocks(slot) * context.get(Slots.CHAIN).blockSize(), found);
    }
    context.note(
        NOTE,
        !isKnown(context) ? "unknown"
            : candidates.loadable[slot] == 0 ? "0"
            : candidates.loadable[slot] + "@" + TIERS[candidates.loadableTier[slot]].name().toLowerCase(Locale.ROOT));
  }

  /** As many tokens are loaded from the nearest tier. */
  private static void put(Candidates candidates, int slot, Match match) {
    int known = candidates.loadable[slot];
    boolean nearer = match.tokens() == known && match.tier().index() < candidates.loadableTier[slot];
    if (match.tokens() > known || nearer) {
      candidates.loadable[slot] = match.tokens();
      candidates.loadableTier[slot] = match.tier().index();
    }
  }
}
