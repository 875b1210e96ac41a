package io.kvasir.execution.workflow;

import io.kvasir.cell.Decision;
import io.kvasir.cell.LearntEngines.LearntEngine;
import io.kvasir.execution.Call;
import io.kvasir.execution.Result;
import io.kvasir.execution.UpstreamRoute;
import io.kvasir.execution.attempt.AttemptResult;
import io.kvasir.execution.attempt.ExecutionServices;
import io.kvasir.execution.attempt.PodRequests;
import io.kvasir.execution.attempt.Task;
import io.kvasir.execution.dialect.ClientRequest;
import io.kvasir.execution.dialect.EngineRequest;
import io.kvasir.execution.dialect.PrefillResult;
import io.kvasir.execution.dialect.SplitRequest;
import io.kvasir.execution.dialect.Translation;
import io.kvasir.http.ApiPath;
import io.kvasir.http.client.PodRequest;
import io.kvasir.routing.RoutingPlan;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The requests that a plan's workers get, and what their responses mean for the next. Bodies are large, so this belongs
 * on threads that may take long. Immutable.
 *
 * @param call the client's request
 * @param plan the plan
 * @param services what every attempt shares
 */
record StepTasks(Call call, PlanState plan, ExecutionServices services) {
  /** The longest response that the router reads: a long prompt's ids, a connector's state. */
  private static final int MAX_READ_BYTES = 64 << 20;

  /**
   * One request of a step.
   *
   * @param chosen the step, with the load booked for this request
   * @param request the request's number within the step
   */
  Task task(Decision.Chosen chosen, StepWork work, int request) {
    return switch (work) {
      case StepWork.Whole _ -> whole(chosen);
      case StepWork.Prefill _ -> prefill(chosen);
      case StepWork.Decode decode -> decode(chosen, decode);
      case StepWork.Preprocessing preprocessing -> forRouter(chosen, preprocessing.messages().get(request), null);
    };
  }

  private Task prefill(Decision.Chosen chosen) {
    Translation translation = translation(chosen);
    return forRouter(chosen, plan.protocol().prefill(split(chosen, translation)), translation);
  }

  /** What a response means for decode; null where it means nothing. */
  @Nullable PrefillResult prefillResult(Decision.Chosen chosen, AttemptResult result) {
    boolean awaited = chosen.step().name().equals(RoutingPlan.PREFILL) && !plan.dialect().concurrent();
    if (!awaited || !(result instanceof AttemptResult.Responded(Result.Buffered response))
        || response.status() >= 300) {
      return null;
    }
    try {
      Translation translation = translation(chosen);
      PrefillResult read = plan.protocol().prefillResult(split(chosen, translation), response.body());
      return translation != null && read instanceof PrefillResult.FinalAnswer(byte[] body, boolean events)
          ? new PrefillResult.FinalAnswer(events ? translation.events(body) : translation.whole(body), events)
          : read;
    } catch (IllegalArgumentException e) {
      return new PrefillResult.NoBlocks("unreadable");
    }
  }

  private Task whole(Decision.Chosen chosen) {
    ClientRequest changed = plan.content().changed() ? plan.content().current() : null;
    PodRequest request = changed == null
        ? PodRequests.original(call, chosen, requestId(), engine(chosen))
        : PodRequests.passedThrough(call, chosen.worker(), requestId(),
            new EngineRequest(changed.path(), changed.members().bytes(), Map.of()));
    return Task.single(call, chosen, request, plan.planned().reason(), maxBufferedBytes());
  }

  private Task decode(Decision.Chosen chosen, StepWork.Decode decode) {
    Translation translation = translation(decode.prefill());
    EngineRequest message = plan.protocol().decode(split(decode.prefill(), translation), decode.blocks());
    PodRequest request = translation == null
        ? PodRequests.passedThrough(call, chosen.worker(), requestId(), message)
        : PodRequests.readByRouter(call, chosen.worker(), requestId(), message);
    String reason = plan.planned().reason() + "; split=" + plan.dialectName();
    return new Task(
        chosen,
        request,
        new UpstreamRoute(chosen.worker(), decode.prefill().worker(), reason),
        Task.ResponseHandling.forClient(call, translation == null ? maxBufferedBytes() : MAX_READ_BYTES, translation),
        decode.prefillReport());
  }

  private Task forRouter(Decision.Chosen chosen, EngineRequest message, @Nullable Translation translation) {
    return new Task(
        chosen,
        PodRequests.readByRouter(call, chosen.worker(), requestId(), message),
        new UpstreamRoute(chosen.worker(), null, plan.planned().reason()),
        Task.ResponseHandling.forRouter(MAX_READ_BYTES, translation),
        null);
  }

  /** The longest response for the client that is buffered. */
  private int maxBufferedBytes() {
    return services.settings().maxBufferedBytes();
  }

  private String requestId() {
    return plan.rendezvous().requestId();
  }

  private SplitRequest split(Decision.Chosen prefill, @Nullable Translation translation) {
    return translation == null ? plan.split(prefill) : plan.split(prefill).of(translation.chat());
  }

  /** How a request that is split as a chat becomes one; null where it is split as it is. */
  private @Nullable Translation translation(Decision.Chosen prefill) {
    ClientRequest request = plan.content().current();
    if (request == null) {
      return null;
    }
    Set<ApiPath> splitByBoth = new HashSet<>(engine(prefill).splitApis());
    splitByBoth.retainAll(engine(plan.last()).splitApis());
    return plan.protocol().splitsAsChat(request.api(), splitByBoth)
        ? services.conversion().translation(request, call.decision().model())
        : null;
  }

  private LearntEngine engine(Decision.Chosen chosen) {
    return services.engines().apply(chosen.worker().pod());
  }
}
