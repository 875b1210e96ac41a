package io.kvasir.cell.view;

import com.fasterxml.jackson.annotation.JsonInclude;
import io.kvasir.admission.AdmissionRefusal;
import io.kvasir.cell.CachedTokens;
import io.kvasir.cell.CellLoad;
import io.kvasir.cell.ClusterMessage;
import io.kvasir.cell.Decision;
import io.kvasir.cell.PrefixHold;
import io.kvasir.routing.RoutingPlan;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The decision for another node; without steps there is no worker.
 *
 * @param home the incarnation of the home that decided
 * @param reason why this plan, or why there is none, in plain words
 * @param noWorkerReason why there is none, null when there is a plan
 * @param load the workers that there are when there is no plan; null otherwise, and from an earlier version
 * @param turn the request's turn, where it had to wait for one or is refused; null otherwise, and from an earlier
 *     version
 */
public record DecisionReply(
    long home,
    @Nullable String workflow,
    RoutingPlan.@Nullable StepOrder order,
    @Nullable List<ChosenStep> steps,
    String reason,
    Decision.@Nullable NoWorkerReason noWorkerReason,
    @Nullable CellLoad load,
    @Nullable Turn turn)
    implements ClusterMessage {
  /**
   * A request's turn.
   *
   * @param waits whether it waits for it, so that there is no decision yet
   * @param waitedMillis how long it waited for it
   * @param refusal why it is not to wait, or not any longer
   */
  public record Turn(boolean waits, long waitedMillis, @Nullable AdmissionRefusal refusal) {}

  /** The reply to a request that waits. */
  static DecisionReply waiting(long home) {
    return new DecisionReply(home, null, null, null, "", null, null, new Turn(true, 0, null));
  }

  /** Whether the request waits, so that there is no decision yet. */
  public boolean waits() {
    return turn != null && turn.waits();
  }

  /**
   * A {@link Decision.Chosen}, whose load the cell holds under the id of the request's step.
   *
   * @param held whether the request is to be held before that step, and its node to find out until when; not sent
   *     otherwise, nor by an earlier version
   */
  public record ChosenStep(
      RoutingPlan.Step step,
      int depth,
      int predictedCachedTokens,
      int confirmedCachedTokens,
      int bestCachedTokens,
      int everCachedTokens,
      boolean suspect,
      @JsonInclude(JsonInclude.Include.NON_DEFAULT) boolean held) {
    static ChosenStep of(Decision.Chosen chosen) {
      CachedTokens cached = chosen.cached();
      return new ChosenStep(
          chosen.step(), chosen.depth(), cached.predicted(), cached.confirmed(), cached.best(), cached.ever(),
          chosen.suspect(), chosen.reservation().prefixHold() == PrefixHold.HELD);
    }

    /** The cached tokens of the prompt. */
    public CachedTokens cached() {
      return new CachedTokens(predictedCachedTokens, confirmedCachedTokens, bestCachedTokens, everCachedTokens);
    }
  }
}
