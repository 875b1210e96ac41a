package io.kvasir.routing.cost;

import java.util.List;

/**
 * The engine costs of a fleet as columns indexed by slot, so that a formula over the whole fleet is one plain loop.
 * Immutable.
 */
public final class FleetCosts {
  private final double[] msPerToken;
  private final double[] msPerPair;
  private final double[] msPerContextToken;
  private final double[] kvTokens;

  /** The costs of one engine per slot; slots without a worker may have any. */
  FleetCosts(CostModel model, List<EngineInstance> engines) {
    List<EngineCost> costs = engines.stream().map(model::of).toList();
    this.msPerToken = costs.stream().mapToDouble(EngineCost::msPerToken).toArray();
    this.msPerPair = costs.stream().mapToDouble(EngineCost::msPerPair).toArray();
    this.msPerContextToken = costs.stream().mapToDouble(EngineCost::msPerContextToken).toArray();
    this.kvTokens = costs.stream().mapToDouble(EngineCost::kvTokens).toArray();
  }

  /** {@link EngineCost#prefillMs} of the engine at {@code slot}. */
  public double prefillMs(int slot, int uncached, int prompt) {
    return EngineCost.prefillMs(msPerToken[slot], msPerPair[slot], uncached, prompt);
  }

  /** {@link EngineCost#msPerContextToken} of the engine at {@code slot}. */
  public double msPerContextToken(int slot) {
    return msPerContextToken[slot];
  }

  /** {@link EngineCost#msPerToken} of the engine at {@code slot}. */
  public double msPerToken(int slot) {
    return msPerToken[slot];
  }

  /** {@link EngineCost#kvTokens} of the engine at {@code slot}. */
  public double kvTokens(int slot) {
    return kvTokens[slot];
  }
}
