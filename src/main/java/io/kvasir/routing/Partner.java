package io.kvasir.routing;

import io.kvasir.routing.KvTransfer.TransferDomain;
import io.kvasir.routing.cost.FleetCosts;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The worker of a plan's other step, as input to the step being decided: whether the two can transfer KV blocks and,
 * for a decode worker, whether receiving the prompt's blocks costs less than computing them. In milliseconds:
 *
 * <pre>remote = ready + transfer(u)
 * local  = Q + P(u)·(kappa + gamma·B)</pre>
 *
 * <p>u are the prompt's tokens that the decode worker has not cached, Q the work queued there and B its requests in
 * flight, all of which a local prefill delays; ready is the time until the prefill worker has computed the prompt,
 * priced alike. Immutable.
 */
public final class Partner {
  /** No other worker: the prompt is computed where it is decoded. */
  public static final Partner NONE = new Partner(null, 0, new SplitTerms(SplitMode.NEVER, 0, 3, 0.3), Set.of());

  /** When prefill and decode are split between two workers. */
  public enum SplitMode {
    /** When splitting costs less. */
    AUTO,
    /** Whenever there is a prefill worker. */
    ALWAYS,
    /** Never. */
    NEVER
  }

  /**
   * The parameters of the choice between remote and local prefill.
   *
   * @param mode when to split
   * @param minTokens a decode worker with fewer uncached tokens computes them itself
   * @param kappa price of computing, as in the expected cost
   * @param gamma share of a prefill by which each request in flight is delayed
   */
  public record SplitTerms(SplitMode mode, int minTokens, double kappa, double gamma) {}

  private final @Nullable Worker worker;
  private final double readyMs;
  private final SplitTerms terms;
  private final Set<TransferDomain> avoidedDomains;

  private Partner(@Nullable Worker worker, double readyMs, SplitTerms terms, Set<TransferDomain> avoidedDomains) {
    this.worker = worker;
    this.readyMs = readyMs;
    this.terms = terms;
    this.avoidedDomains = avoidedDomains;
  }

  /** No other worker yet, and the one to be chosen must not be in these transfer domains. */
  public static Partner avoiding(Set<TransferDomain> domains) {
    return domains.isEmpty() ? NONE : new Partner(null, 0, NONE.terms, Set.copyOf(domains));
  }

  /** The decode worker of the plan, when a prefill worker is chosen. */
  public static Partner ofDecode(Worker decode) {
    return new Partner(decode, 0, NONE.terms, Set.of());
  }

  /**
   * The prefill worker of the plan, when a decode worker is chosen.
   *
   * @param readyMs milliseconds until it has computed the prompt, priced by the terms' kappa
   */
  public static Partner ofPrefill(Worker prefill, double readyMs, SplitTerms terms) {
    return new Partner(prefill, readyMs, terms, Set.of());
  }

  /** The other step's worker, null when there is none. */
  public @Nullable Worker worker() {
    return worker;
  }

  /** The transfer domains whose workers must not be chosen. */
  public Set<TransferDomain> avoidedDomains() {
    return avoidedDomains;
  }

  /** Whether a decode worker must receive the prompt from this worker, however little of it is uncached. */
  public boolean isRequired() {
    return worker != null && terms.mode == SplitMode.ALWAYS;
  }

  /** Whether a decode worker receives the prompt from this worker rather than compute {@code uncached} tokens. */
  public boolean shouldTransferTo(Candidates candidates, FleetCosts costs, int slot, int uncached, int prompt) {
    Worker decode = candidates.workers[slot];
    if (worker == null || terms.mode == SplitMode.NEVER || !worker.pairsWith(decode)) {
      return false;
    }
    if (terms.mode == SplitMode.ALWAYS || !decode.canPrefill()) {
      return true;
    }
    return uncached >= terms.minTokens
        && transferMs(decode, uncached) < prefillMs(candidates, costs, slot, uncached, prompt);
  }

  /** Milliseconds until a decode worker has the prompt, by transfer or local prefill as {@link #shouldTransferTo}. */
  public double promptMs(Candidates candidates, FleetCosts costs, int slot, int uncached, int prompt) {
    return shouldTransferTo(candidates, costs, slot, uncached, prompt)
        ? transferMs(candidates.workers[slot], uncached)
        : prefillMs(candidates, costs, slot, uncached, prompt);
  }

  /** Milliseconds until a decode worker has received the prompt from this one. */
  public double transferMs(Worker decode, int uncached) {
    KvTransfer transfer = decode.kvTransfer();
    return readyMs + (transfer == null ? 0 : transfer.link().transferMs(uncached));
  }

  /** Milliseconds, weighted by the terms, for a worker to compute the prompt itself. */
  public double prefillMs(Candidates candidates, FleetCosts costs, int slot, int uncached, int prompt) {
    return candidates.queueMs[slot]
        + costs.prefillMs(slot, uncached, prompt) * (terms.kappa + terms.gamma * candidates.inFlight[slot]);
  }
}
