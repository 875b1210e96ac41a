package io.kvasir.routing.plugins;

import io.kvasir.index.Tier;
import io.kvasir.routing.CacheMatches;
import io.kvasir.routing.CacheMatches.Match;
import io.kvasir.routing.Candidates;
import io.kvasir.routing.PerMembership;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Slots;
import io.kvasir.routing.Worker;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;

/** What a cache layer has found of a prompt, at the candidates: fills {@link Candidates#loadable}. Thread-safe. */
final class LoadableTokens {
  private static final String NOTE = "lmcache";
  private static final Tier[] TIERS = Tier.values();

  private final PerMembership<Map<String, Integer>> slots = new PerMembership<>(LoadableTokens::slots);

  private static Map<String, Integer> slots(Worker[] table) {
    Map<String, Integer> slots = new HashMap<>();
    for (int slot = 0; slot < table.length; slot++) {
      if (table[slot] != null) {
        slots.put(table[slot].id(), slot);
      }
    }
    return slots;
  }

  /** Whether the question has been answered. */
  static boolean isKnown(RoutingContext context) {
    return context.get(Slots.CACHE_MATCHES).known();
  }

  /**
   * Fills in what was found, nothing where nobody answered. Returns the tokens that somebody may hold: a layer that has
   * answered has read the prompt as far as anybody holds it.
   */
  int fill(RoutingContext context, Candidates candidates) {
    Arrays.fill(candidates.loadable, 0);
    int most = 0;
    for (Match match : context.get(Slots.CACHE_MATCHES).matches()) {
      most = Math.max(most, match.tokens());
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
    return isKnown(context) ? most : Integer.MAX_VALUE;
  }

  /** Says in the decision's reason what its worker can load. */
  static void note(RoutingContext context, Candidates candidates, int slot) {
    context.note(
        NOTE,
        !isKnown(context) ? "unknown"
            : candidates.loadable[slot] == 0 ? "0"
            : candidates.loadable[slot] + "@" + TIERS[candidates.loadableTier[slot]].name().toLowerCase(Locale.ROOT));
  }

  private static void put(Candidates candidates, int slot, Match match) {
    if (match.tokens() > candidates.loadable[slot]) {
      candidates.loadable[slot] = match.tokens();
      candidates.loadableTier[slot] = match.tier().index();
    }
  }
}
