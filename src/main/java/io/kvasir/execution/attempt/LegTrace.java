package io.kvasir.execution.attempt;

import io.kvasir.cell.Decision;
import io.kvasir.cell.Outcome;
import io.kvasir.http.client.PodRequest;
import io.kvasir.routing.RoutingPlan;
import io.kvasir.time.NanoClock;
import io.kvasir.tracing.TraceContext;
import io.kvasir.tracing.TracedLeg;
import io.kvasir.tracing.TracedLeg.Target;
import io.kvasir.tracing.TracedLeg.Tokens;
import io.kvasir.tracing.TracedRequest;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Notes one request to a worker in the trace of its call, and gives the worker its place in it. Of a call that is not
 * traced it is {@link #NONE}.
 *
 * @param leg the note, null for none
 */
record LegTrace(@Nullable TracedLeg leg, NanoClock clock) {
  static final LegTrace NONE = new LegTrace(null, NanoClock.SYSTEM);

  /** The trace of a leg that begins now. */
  static LegTrace begin(@Nullable TracedRequest request, Decision.Chosen chosen, int tries, NanoClock clock) {
    if (request == null) {
      return NONE;
    }
    String step = chosen.step().name();
    String kind = step.equals(RoutingPlan.WHOLE) ? TracedLeg.SERVE : step;
    Target target = new Target(chosen.worker().id(), chosen.worker().url(), chosen.cached().predicted());
    return new LegTrace(request.leg(kind, target, tries, clock.nanos()), clock);
  }

  /** The request as the worker gets it. */
  PodRequest identified(PodRequest request) {
    return leg == null ? request
        : new PodRequest(
            request.pod(), request.method(), request.target(),
            request.headers().toBuilder().set(TraceContext.HEADER, leg.context().header()).build(), request.body());
  }

  /** Whether the leg is noted. */
  boolean isOn() {
    return leg != null;
  }

  void responded(int status) {
    if (leg != null) {
      leg.responded(status);
    }
  }

  void firstToken() {
    if (leg != null) {
      leg.firstToken(clock.nanos());
    }
  }

  void identified(String answerId) {
    if (leg != null) {
      leg.identified(answerId);
    }
  }

  void ended(Outcome outcome, List<String> finishReasons) {
    if (leg != null) {
      leg.finished(finishReasons);
      Tokens tokens = outcome instanceof Outcome.Completed completed
          ? new Tokens(completed.promptTokens(), completed.cachedTokens(), completed.outputTokens())
          : new Tokens(Outcome.UNKNOWN, Outcome.UNKNOWN, Outcome.UNKNOWN);
      leg.ended(tokens, error(outcome), clock.nanos());
    }
  }

  private static @Nullable String error(Outcome outcome) {
    return switch (outcome) {
      case Outcome.Completed _, Outcome.Cancelled _, Outcome.Preempted _ -> null;
      case Outcome.Refused(int status) -> Integer.toString(status);
      case Outcome.Failed failed -> failed.transport() ? "connection" : "worker_failed";
      case Outcome.UnknownModel _ -> "unknown_model";
    };
  }
}
