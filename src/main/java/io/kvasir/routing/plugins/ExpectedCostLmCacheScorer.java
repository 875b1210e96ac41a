package io.kvasir.routing.plugins;

import io.kvasir.index.Tier;
import io.kvasir.routing.Candidates;
import io.kvasir.routing.Parameters;
import io.kvasir.routing.PerMembership;
import io.kvasir.routing.PromptSize;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Scorer;
import io.kvasir.routing.Slot;
import io.kvasir.routing.Slots;
import io.kvasir.routing.cost.CostModel;
import io.kvasir.routing.cost.FleetCosts;
import io.kvasir.routing.cost.LoadingCost;
import io.kvasir.routing.cost.OutputLengths;
import java.util.Set;

/**
 * The expected cost where workers can also load what LMCache holds:
 *
 * <pre>Q + T(m) + P(u)·(kappa + gamma·B) + delta·O·c·KV</pre>
 *
 * <p>The other terms are those of {@code expected-cost}; m are the tokens beyond those on the device that the worker
 * can load, T(m) what loading takes, and u the tokens that neither has. A worker for which loading costs more than
 * computing counts as if it computed. Without an answer of LMCache it is the expected cost of what the devices hold.
 *
 * <ul>
 *   <li>{@code host-us-per-token} (3), {@code disk-us-per-token} (25), {@code remote-us-per-token} (12), and {@code
 *       host-setup-ms} (0.5), {@code disk-setup-ms} (2), {@code
 *       remote-setup-ms} (5): what loading takes. A token of an 8B model is 128 KiB.
 *   <li>{@code hint-worth} (0.5): LMCache's connectors tell of what they store in host memory and never of what they
 *       remove, and a lookup names one holder of a chunk and not all. What a worker was once said to have counts by
 *       this much, as far as a lookup leaves it open, and not at all for the load that is booked.
 * </ul>
 */
final class ExpectedCostLmCacheScorer implements Scorer {
  private final double kappa;
  private final double gamma;
  private final double delta;
  private final double hintWorth;
  private final double[] msPerToken = new double[Tier.values().length];
  private final double[] setupMs = new double[msPerToken.length];
  private final OutputLengths outputs;
  private final PerMembership<FleetCosts> costs;
  private final LoadableTokens found = new LoadableTokens();

  ExpectedCostLmCacheScorer(Parameters parameters, CostModel costs, OutputLengths outputs) {
    this.kappa = parameters.number("kappa", 3, 0, 1e6);
    this.gamma = parameters.number("gamma", 0.3, 0, 1e6);
    this.delta = parameters.number("delta", 2, 0, 1e6);
    this.hintWorth = parameters.number("hint-worth", 0.5, 0, 1);
    read(parameters, Tier.HOST, "host");
    read(parameters, Tier.DISK, "disk");
    read(parameters, Tier.REMOTE, "remote");
    this.outputs = outputs;
    this.costs = PerMembership.costs(costs);
  }

  private void read(Parameters parameters, Tier tier, String name) {
    LoadingCost standard = LoadingCost.of(tier);
    msPerToken[tier.index()] =
        parameters.number(name + "-us-per-token", standard.microsPerToken(), 0, 1e6) / 1e3;
    setupMs[tier.index()] = parameters.number(name + "-setup-ms", standard.setupMs(), 0, 1e6);
  }

  @Override
  public void score(RoutingContext context, Candidates candidates, double[] out) {
    int held = found.fill(context, candidates);
    PromptSize prompt = PromptSize.of(context);
    double decode = delta * outputs.expected(context.model());
    FleetCosts engines = costs.of(candidates);
    for (int slot = candidates.next(0); slot >= 0; slot = candidates.next(slot + 1)) {
      int hinted = hintWorth == 0 ? 0 : Math.min(held, candidates.hintedBlocks(slot) * prompt.blockSize());
      out[slot] =
          candidates.queueMs[slot]
              + promptMs(candidates, engines, slot, prompt, hinted)
              + decode * engines.msPerContextToken(slot) * candidates.contextTokens[slot];
    }
  }

  /** What it costs a worker to have the whole prompt, the cheaper way; what it had better not load is not nearby. */
  private double promptMs(Candidates candidates, FleetCosts engines, int slot, PromptSize prompt, int hinted) {
    double price = kappa + gamma * candidates.inFlight[slot];
    int lacking = prompt.uncached(candidates.depth[slot]);
    double known = engines.prefillMs(slot, lacking, prompt.tokens()) * price;
    int nearby = candidates.loadable[slot];
    if (nearby > 0) {
      double loading = loadingMs(engines, slot, prompt, lacking, nearby, candidates.loadableTier[slot], price);
      if (loading < known) {
        known = loading;
      } else {
        candidates.loadable[slot] = 0;
      }
    }
    if (hinted <= nearby) {
      return known;
    }
    double hoped = loadingMs(engines, slot, prompt, lacking, hinted, Tier.HOST.index(), price);
    return hoped < known ? hintWorth * hoped + (1 - hintWorth) * known : known;
  }

  /** What it costs to load tokens that the device lacks and compute the rest; infinite when it lacks none of them. */
  private double loadingMs(
      FleetCosts engines, int slot, PromptSize prompt, int lacking, int nearby, int tier, double price) {
    int left = Math.min(lacking, prompt.tokens() - Math.min(nearby, prompt.tokens() - 1));
    return left == lacking
        ? Double.POSITIVE_INFINITY
        : setupMs[tier] + (lacking - left) * msPerToken[tier] + engines.prefillMs(slot, left, prompt.tokens()) * price;
  }

  @Override
  public void onChosen(RoutingContext context, Candidates candidates, int slot) {
    LoadableTokens.note(context, candidates, slot);
  }

  @Override
  public Direction direction() {
    return Direction.LOWER;
  }

  @Override
  public Set<Slot<?>> reads() {
    return Set.of(Slots.PROMPT_TOKENS, Slots.CHAIN, Slots.CACHE_MATCHES);
  }
}
