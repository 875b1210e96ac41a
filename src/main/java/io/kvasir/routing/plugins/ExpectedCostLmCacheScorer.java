package io.kvasir.routing.plugins;

import io.kvasir.index.Tier;
import io.kvasir.routing.CacheLayer;
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
 * Expected cost in milliseconds, with prefixes that workers can load from LMCache:
 *
 * <pre>Q + T(m) + P(u)·(K + gamma·B) + delta·O·c·KV</pre>
 *
 * <p>The other terms are those of {@code expected-cost}; m are the tokens beyond those on the device that the worker
 * can load, T(m) the time to load them, and u the remaining tokens, which it computes. A worker for which loading costs
 * more than computing is scored as if it computed. Without an answer of LMCache the score is the expected cost of what
 * the devices hold.
 *
 * <ul>
 *   <li>{@code host-us-per-token} (3), {@code disk-us-per-token} (25), {@code remote-us-per-token} (12), and {@code
 *       host-setup-ms} (0.5), {@code disk-setup-ms} (2), {@code
 *       remote-setup-ms} (5): the time to load. A token of an 8B model is 128 KiB.
 *   <li>{@code hint-worth} (0.5): LMCache's connectors report what they store in host memory and never what they
 *       remove, and a lookup names one holder of a chunk and not all. Hinted tokens that a lookup neither confirms nor
 *       excludes have this weight in the score, and none in the booked load.
 * </ul>
 */
final class ExpectedCostLmCacheScorer implements Scorer {
  private final ComputingPrice computing;
  private final double gamma;
  private final double delta;
  private final double hintWorth;
  private final double[] msPerToken = new double[Tier.values().length];
  private final double[] setupMs = new double[msPerToken.length];
  private final OutputLengths outputs;
  private final PerMembership<FleetCosts> costs;
  private final LoadableTokens loadableTokens;

  ExpectedCostLmCacheScorer(Parameters parameters, CostModel costs, OutputLengths outputs, CacheLayer layer) {
    this.loadableTokens = new LoadableTokens(layer);
    this.computing = ComputingPrice.of(parameters);
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
    int held = loadableTokens.fill(context, candidates);
    PromptSize prompt = PromptSize.of(context);
    double decode = delta * outputs.expected(context.model());
    FleetCosts engines = costs.of(candidates);
    computing.fill(candidates);
    for (int slot = candidates.next(0); slot >= 0; slot = candidates.next(slot + 1)) {
      int hinted = hintWorth == 0 ? 0 : Math.min(held, candidates.hintedBlocks(slot) * prompt.blockSize());
      double price = candidates.computingPrice[slot] + gamma * candidates.inFlight[slot];
      out[slot] =
          candidates.queueMs[slot]
              + promptMs(candidates, engines, slot, prompt, hinted, price)
              + decode * engines.msPerContextToken(slot) * candidates.contextTokens[slot];
    }
  }

  /** Milliseconds until a worker has the whole prompt, by loading or computing; clears tokens not worth loading. */
  private double promptMs(
      Candidates candidates, FleetCosts engines, int slot, PromptSize prompt, int hinted, double price) {
    int uncached = prompt.uncached(candidates.depth[slot]);
    double cost = engines.prefillMs(slot, uncached, prompt.tokens()) * price;
    int loadable = candidates.loadable[slot];
    if (loadable > 0) {
      double loading = loadingMs(engines, slot, prompt, uncached, loadable, candidates.loadableTier[slot], price);
      if (loading < cost) {
        cost = loading;
      } else {
        candidates.loadable[slot] = 0;
      }
    }
    if (hinted <= loadable) {
      return cost;
    }
    double hinting = loadingMs(engines, slot, prompt, uncached, hinted, Tier.HOST.index(), price);
    return hinting < cost ? hintWorth * hinting + (1 - hintWorth) * cost : cost;
  }

  /** Milliseconds to load tokens that are not on the device and compute the rest; infinite when all of them are. */
  private double loadingMs(
      FleetCosts engines, int slot, PromptSize prompt, int uncached, int loadable, int tier, double price) {
    int computed = Math.min(uncached, prompt.tokens() - Math.min(loadable, prompt.tokens() - 1));
    return computed == uncached
        ? Double.POSITIVE_INFINITY
        : setupMs[tier] + (uncached - computed) * msPerToken[tier]
            + engines.prefillMs(slot, computed, prompt.tokens()) * price;
  }

  @Override
  public void onChosen(RoutingContext context, Candidates candidates, int slot) {
    loadableTokens.note(context, candidates, slot);
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
