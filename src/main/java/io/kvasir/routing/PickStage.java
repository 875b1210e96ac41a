package io.kvasir.routing;

import io.kvasir.index.Rendition;
import io.kvasir.routing.Selection.Chosen;
import io.kvasir.routing.Selection.None;
import io.kvasir.routing.cost.FleetCosts;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The last stage of a selector: ranks the candidates that were scored and books the load of the first that has room.
 * When the request is held there ({@link QueueLimit}), one that begins it earlier is taken instead, if there is one
 * ({@link EarlierStart}). Thread-safe.
 */
final class PickStage {
  private final String profile;
  private final ScoreSum scores;
  private final Picker picker;
  private final FailurePolicy onFailure;
  private final PerMembership<FleetCosts> costs;

  /**
   * That of one selector.
   *
   * @param profile the profile's name
   * @param scores the selector's, which are told what was chosen
   */
  PickStage(
      String profile, ScoreSum scores, Picker picker, FailurePolicy onFailure, PerMembership<FleetCosts> costs) {
    this.profile = profile;
    this.scores = scores;
    this.picker = picker;
    this.onFailure = onFailure;
    this.costs = costs;
  }

  Selection pick(Fleet fleet, RoutingContext context, Scratch scratch) {
    return new Pick(fleet, context, scratch).run();
  }

  /** The pick of one decision. */
  private final class Pick {
    private final Fleet fleet;
    private final RoutingContext context;
    private final Scratch scratch;
    private final Candidates candidates;
    private final FleetCosts engines;
    private final PromptSize prompt;
    private final int count;
    private final int best;
    private int full;
    private @Nullable Worker busy;

    Pick(Fleet fleet, RoutingContext context, Scratch scratch) {
      this.fleet = fleet;
      this.context = context;
      this.scratch = scratch;
      this.candidates = scratch.candidates;
      this.engines = costs.of(candidates);
      this.prompt = PromptSize.of(context);
      this.count = candidates.count();
      this.best = bestTokens();
    }

    Selection run() {
      int[] ranked = scratch.ranked;
      while (full < count) {
        int picked = picker.pick(context, candidates, scratch.scores, ranked);
        for (int i = 0; i < picked; i++) {
          int slot = ranked[i];
          Booking local = localBooking(slot);
          Booking booking = receivesPrompt(slot, local) ? local.afterTransfer() : local;
          if (reserve(slot, booking)) {
            List<Worker> alternatives = alternatives(ranked, i, picked);
            Chosen earlier = booking.equals(local) ? earlier(slot, booking, alternatives) : null;
            return earlier == null ? chosen(slot, booking, local, alternatives, i > 0) : earlier;
          }
          candidates.remove(slot);
          full++;
        }
        if (picked == 0) {
          throw new IllegalStateException(
              "the picker of profile \"" + profile + "\" chose none of " + candidates.count() + " candidates");
        }
      }
      return new None(UnmetNeed.ROOM,
          "none of " + count + (count == 1 ? " worker " : " workers ") + UnmetNeed.ROOM.description());
    }

    /**
     * Books the load of a worker that begins the request earlier than the one where it is booked, if it is held there;
     * null when there is none, or it is not held.
     */
    private @Nullable Chosen earlier(int slot, Booking booked, List<Worker> alternatives) {
      QueueLimit limit = context.queueLimit();
      if (limit == null || context.role() == Role.ENCODE) {
        return null;
      }
      EarlierStart start = new EarlierStart(limit, candidates, engines, prompt);
      if (!start.isHeldAt(slot)) {
        return null;
      }
      start.keepEarlierThan(slot);
      while (candidates.count() > 0) {
        int ranked = Ranking.byScore(context, candidates, scratch.scores, scratch.earlier);
        for (int i = 0; i < ranked; i++) {
          int other = scratch.earlier[i];
          Booking booking = localBooking(other);
          if (!receivesPrompt(other, booking) && reserve(other, booking)) {
            cancel(slot, booked);
            busy = candidates.workers[slot];
            return chosen(other, booking, booking, without(other, slot, alternatives), true);
          }
          candidates.remove(other);
        }
      }
      return null;
    }

    private boolean reserve(int slot, Booking booking) {
      return context.dryRun() || fleet.reserve(slot, booking);
    }

    private void cancel(int slot, Booking booking) {
      if (!context.dryRun()) {
        fleet.cancel(slot, booking);
      }
    }

    private Chosen chosen(
        int slot, Booking booking, Booking local, List<Worker> alternatives, boolean alternative) {
      if (!context.dryRun()) {
        scores.onChosen(context, candidates, slot);
        if (alternative) {
          picker.onAlternativeChosen(context, candidates, slot);
        }
      }
      return new Chosen(
          profile,
          context.role(),
          slot,
          candidates.workers[slot],
          alternatives,
          booking,
          local,
          candidates.queueMs[slot],
          candidates.depth[slot],
          candidates.chain(slot),
          promisedTokens(local),
          best,
          count,
          full,
          busy,
          onFailure,
          PullSources.of(candidates, slot));
    }

    private int promisedTokens(Booking local) {
      return Slots.requestShape(context).severalPrompts() ? 0 : local.promptTokens() - local.uncachedTokens();
    }

    /** The most tokens of the prompt that any candidate should find cached. */
    private int bestTokens() {
      if (Slots.requestShape(context).severalPrompts()) {
        return 0;
      }
      if (!candidates.renditions().isEmpty()) {
        return bestOfRenditions();
      }
      int depth = candidates.greatest(candidates.depth);
      return prompt.tokens() - prompt.uncached(depth, candidates.greatest(candidates.loadable));
    }

    private int bestOfRenditions() {
      int best = 0;
      for (int slot = candidates.next(0); slot >= 0; slot = candidates.next(slot + 1)) {
        PromptSize own = prompt(slot);
        best = Math.max(best, own.tokens() - own.uncached(candidates.depth[slot], candidates.loadable[slot]));
      }
      return best;
    }

    /** The prompt's size as a worker's engine prepares it. */
    private PromptSize prompt(int slot) {
      Rendition own = candidates.rendition(slot);
      return own == null ? prompt : new PromptSize(Math.max(1, own.tokens()), own.chain().blockSize());
    }

    /** Whether a decode worker receives the prompt's KV blocks from the worker of the prefill step. */
    private boolean receivesPrompt(int slot, Booking local) {
      return context.role() == Role.DECODE
          && context.has(Slots.PARTNER)
          && context
              .get(Slots.PARTNER)
              .shouldTransferTo(candidates, engines, slot, local.uncachedTokens(), local.promptTokens());
    }

    private Booking localBooking(int slot) {
      PromptSize own = prompt(slot);
      int uncached = own.uncached(candidates.depth[slot], candidates.loadable[slot]);
      double prefillMs = engines.prefillMs(slot, uncached, own.tokens());
      return new Booking(own.tokens(), uncached, Math.max(1, Math.round(prefillMs * 1e3)));
    }

    /** Those that are ranked behind one. */
    private List<Worker> alternatives(int[] ranked, int at, int picked) {
      Worker[] alternatives = new Worker[picked - at - 1];
      for (int i = 0; i < alternatives.length; i++) {
        alternatives[i] = candidates.workers[ranked[at + 1 + i]];
      }
      return List.of(alternatives);
    }

    /** The alternatives of one that is taken instead of another. */
    private List<Worker> without(int taken, int other, List<Worker> alternatives) {
      List<Worker> others = new ArrayList<>(alternatives);
      others.remove(candidates.workers[taken]);
      others.addFirst(candidates.workers[other]);
      return others.subList(0, Math.min(others.size(), Scratch.RANKED - 1));
    }
  }
}
