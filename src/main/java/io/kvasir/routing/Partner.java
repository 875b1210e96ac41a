package io.kvasir.routing;

import io.kvasir.routing.KvTransfer.TransferDomain;
import io.kvasir.routing.cost.FleetCosts;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The worker that another step of the plan has, as the step that is being decided sees it: whether they can work
 * together, and for a decode worker, whether it had better take the prompt's KV blocks from it or read the prompt
 * itself. In milliseconds:
 *
 * <pre>taking  = ready + transfer(u)
 * reading = Q + P(u)·(kappa + gamma·B)</pre>
 *
 * <p>u are the prompt's tokens the decode worker has not cached, Q the work queued there and B its requests in flight,
 * all of which a prompt read there holds up; ready is what the prefill worker needs until it has read the prompt,
 * priced alike. Immutable.
 */
public final class Partner {
  /** Nobody: a prompt is read where it is continued. */
  public static final Partner NONE = new Partner(null, 0, new SplitTerms(SplitMode.NEVER, 0, 3, 0.3), Set.of());

  /** When a prompt is read by another worker than the one that generates. */
  public enum SplitMode {
    /** When that costs less. */
    AUTO,
    /** Whenever there is such a worker. */
    ALWAYS,
    /** Never. */
    NEVER
  }

  /**
   * What decides between taking and reading.
   *
   * @param when whether it is a question of cost
   * @param leastTokens a decode worker that lacks fewer reads them itself
   * @param kappa price of computing, as in the expected cost
   * @param gamma how much of a prefill each request in flight there is held up
   */
  public record SplitTerms(SplitMode when, int leastTokens, double kappa, double gamma) {}

  private final @Nullable Worker worker;
  private final double readyMs;
  private final SplitTerms terms;
  private final Set<TransferDomain> avoided;

  private Partner(@Nullable Worker worker, double readyMs, SplitTerms terms, Set<TransferDomain> avoided) {
    this.worker = worker;
    this.readyMs = readyMs;
    this.terms = terms;
    this.avoided = avoided;
  }

  /** Nobody yet, and whoever is chosen should not be of these islands. */
  public static Partner avoiding(Set<TransferDomain> islands) {
    return islands.isEmpty() ? NONE : new Partner(null, 0, NONE.terms, Set.copyOf(islands));
  }

  /** A decode worker, for whom a prefill worker is looked for. */
  public static Partner ofDecode(Worker decode) {
    return new Partner(decode, 0, NONE.terms, Set.of());
  }

  /**
   * A prefill worker, for whom a decode worker is looked for.
   *
   * @param readyMs what it needs until it has read the prompt, priced by the terms' kappa
   */
  public static Partner ofPrefill(Worker prefill, double readyMs, SplitTerms terms) {
    return new Partner(prefill, readyMs, terms, Set.of());
  }

  /** The worker, null when there is none. */
  public @Nullable Worker worker() {
    return worker;
  }

  /** Whose workers should not be chosen. */
  public Set<TransferDomain> avoided() {
    return avoided;
  }

  /** Whether a decode worker must take from it, however little it lacks. */
  public boolean isRequired() {
    return worker != null && terms.when == SplitMode.ALWAYS;
  }

  /** Whether a decode worker takes the prompt from it rather than read its {@code uncached} tokens itself. */
  public boolean shouldTransferTo(Candidates candidates, FleetCosts costs, int slot, int uncached, int prompt) {
    Worker taker = candidates.workers[slot];
    if (worker == null || terms.when == SplitMode.NEVER || !worker.pairsWith(taker)) {
      return false;
    }
    if (terms.when == SplitMode.ALWAYS || !taker.canPrefill()) {
      return true;
    }
    return uncached >= terms.leastTokens
        && transferMs(taker, uncached) < prefillMs(candidates, costs, slot, uncached, prompt);
  }

  /** What it costs until a decode worker has the prompt, the cheaper way or the only one. */
  public double promptMs(Candidates candidates, FleetCosts costs, int slot, int uncached, int prompt) {
    return shouldTransferTo(candidates, costs, slot, uncached, prompt)
        ? transferMs(candidates.workers[slot], uncached)
        : prefillMs(candidates, costs, slot, uncached, prompt);
  }

  /** What it costs until a decode worker has the prompt from this one. */
  public double transferMs(Worker taker, int uncached) {
    KvTransfer transfer = taker.kvTransfer();
    return readyMs + (transfer == null ? 0 : transfer.link().transferMs(uncached));
  }

  /** What it costs a worker to read the prompt itself. */
  public double prefillMs(Candidates candidates, FleetCosts costs, int slot, int uncached, int prompt) {
    return candidates.queueMs[slot]
        + costs.prefillMs(slot, uncached, prompt) * (terms.kappa + terms.gamma * candidates.inFlight[slot]);
  }
}
