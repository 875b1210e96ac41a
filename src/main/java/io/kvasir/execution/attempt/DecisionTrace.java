package io.kvasir.execution.attempt;

import io.kvasir.cell.CachedTokens;
import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.routing.RoutingPlan;
import io.kvasir.tracing.TracedDecision;
import io.kvasir.tracing.TracedRequest;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Notes decisions in the traces of calls. */
public final class DecisionTrace {
  private DecisionTrace() {}

  /** Notes a decision; {@code trace} is null for a call that is not traced. */
  public static void note(
      @Nullable TracedRequest trace, DecisionRequest request, Decision decision, long startNanos, long endNanos) {
    if (trace == null) {
      return;
    }
    String profile = Objects.requireNonNullElse(request.profile(), "");
    int prompt = request.prompt().tokens();
    trace.decided(switch (decision) {
      case Decision.Planned planned -> {
        Decision.Chosen prefill = planned.step(RoutingPlan.PREFILL);
        CachedTokens cached = (prefill == null ? planned.last() : prefill).cached();
        yield new TracedDecision(
            startNanos, endNanos, profile, planned.last().worker().id(), planned.reason(),
            new TracedDecision.Tokens(prompt, cached.best(), cached.predicted()), origin(planned.origin()));
      }
      case Decision.NoWorker(Decision.NoWorkerReason reason, String detail, _, _) ->
          new TracedDecision(
              startNanos, endNanos, profile, null, reason.label() + ": " + detail,
              new TracedDecision.Tokens(prompt, 0, 0), null);
    });
  }

  private static TracedDecision.@Nullable Origin origin(Decision.@Nullable Origin origin) {
    return origin == null ? null : new TracedDecision.Origin(origin.way().label(), origin.cell(), origin.home());
  }
}
