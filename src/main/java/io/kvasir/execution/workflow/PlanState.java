package io.kvasir.execution.workflow;

import io.kvasir.cell.Decision;
import io.kvasir.execution.Call;
import io.kvasir.execution.Report;
import io.kvasir.execution.Result;
import io.kvasir.execution.UpstreamRoute;
import io.kvasir.execution.dialect.ClientRequest;
import io.kvasir.execution.dialect.JsonMembers;
import io.kvasir.execution.dialect.KvTransferProtocol;
import io.kvasir.execution.dialect.PrefillResult;
import io.kvasir.execution.dialect.SplitRequest;
import io.kvasir.execution.stream.UsageFilter;
import io.kvasir.http.Headers;
import io.kvasir.routing.KvTransfer;
import io.kvasir.routing.RoutingPlan;
import java.net.URI;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A plan that is carried out: the steps left, and the request as the steps so far have made it. Immutable.
 *
 * @param planned the steps that are left or run, as they are booked, and the reason for the client's header
 * @param shape what is known of the plan as a whole
 * @param content the client's request
 * @param rendezvous where the engines of this try find each other
 */
record PlanState(Decision.Planned planned, Shape shape, Content content, Rendezvous rendezvous) {
  /**
   * What is known of a plan as a whole.
   *
   * @param several whether it had several steps when it was decided
   * @param singleWorker whether it was decided for a request that cannot be split
   * @param unsupportedReason why its prefill has to be left out, null when it is supported
   */
  record Shape(boolean several, boolean singleWorker, @Nullable String unsupportedReason) {}

  /**
   * The client's request.
   *
   * @param original as the client sent it; null when no step has to read it, or it is not JSON
   * @param current as the steps so far have changed it
   */
  record Content(@Nullable ClientRequest original, @Nullable ClientRequest current) {
    boolean changed() {
      return !Objects.equals(original, current);
    }
  }

  /**
   * Where the engines of one try find each other. Another try is another rendezvous: engines accept neither id twice.
   *
   * @param requestId {@code X-Request-Id} of all requests of the try
   * @param rendezvousId random, 0..2⁶³−1
   * @param bootstrap the response of the prefill engine's bootstrap server, null before it is known
   */
  record Rendezvous(String requestId, long rendezvousId, @Nullable JsonMembers bootstrap) {
    static Rendezvous of(String requestId) {
      return new Rendezvous(requestId, ThreadLocalRandom.current().nextLong() & Long.MAX_VALUE, null);
    }
  }

  /**
   * A plan about to begin. May take long: it parses the client's request where the plan has several steps.
   *
   * @param known the client's request where it has been parsed before
   */
  static PlanState of(
      Call call, Decision.Planned planned, String requestId, @Nullable ClientRequest known, boolean singleWorker) {
    boolean several = planned.steps().size() > 1;
    ClientRequest request =
        known != null || !several ? known : ClientRequest.of(call.http().target(), call.http().body());
    PlanState plan = new PlanState(
        planned, new Shape(several, singleWorker, null), new Content(request, request), Rendezvous.of(requestId));
    String unsupported = plan.prefill() == null ? null
        : request == null ? "not JSON"
        : plan.protocol().unsupportedReason(request);
    return unsupported == null
        ? plan
        : new PlanState(planned, new Shape(several, singleWorker, unsupported), plan.content, plan.rendezvous);
  }

  /** The step whose response is the client's. */
  Decision.Chosen last() {
    return planned.last();
  }

  /** The first step left of those before the prompt is computed; null without one. */
  Decision.@Nullable Chosen nextPreprocessing() {
    Decision.Chosen first = planned.steps().getFirst();
    return planned.steps().size() == 1 || first.step().name().equals(RoutingPlan.PREFILL) ? null : first;
  }

  /** The step that computes the prompt for another worker; null without one. */
  Decision.@Nullable Chosen prefill() {
    return planned.step(RoutingPlan.PREFILL);
  }

  /** How the engines of the prefill worker hand over KV blocks; only while there is a prefill step. */
  KvTransfer.Dialect dialect() {
    Decision.Chosen prefill = prefill();
    KvTransfer transfer = prefill == null ? null : prefill.worker().kvTransfer();
    if (transfer == null) {
      throw new IllegalStateException("a plan of " + planned.workflow() + " has no prefill worker with a kv-transfer");
    }
    return transfer.dialect();
  }

  KvTransferProtocol protocol() {
    return KvTransferProtocol.of(dialect());
  }

  /** The dialect as the configuration spells it, {@code none} without prefill. */
  String dialectName() {
    return prefill() == null ? "none" : dialect().name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  /** Whether the plan can be carried out without a step. */
  boolean isOptional(String step) {
    return !step.equals(last().step().name())
        && (!step.equals(RoutingPlan.PREFILL) || dialect().decodeCanPrefill());
  }

  /** Whether a step is to receive the KV blocks of a prefill step, and could compute the prompt instead. */
  boolean receives(Decision.Chosen step) {
    return prefill() != null && step.step().name().equals(last().step().name()) && isOptional(RoutingPlan.PREFILL);
  }

  /** The bootstrap server that has to be read before prefill; null without one. */
  @Nullable URI bootstrapServer() {
    Decision.Chosen prefill = prefill();
    return prefill == null ? null : protocol().bootstrap(prefill.worker());
  }

  /** Ids of the workers of all steps but one, by the steps' names. */
  Map<String, String> workersOfOtherSteps(String step) {
    Map<String, String> workers = new HashMap<>();
    for (Decision.Chosen chosen : planned.steps()) {
      if (!chosen.step().name().equals(step)) {
        workers.put(chosen.step().name(), chosen.worker().id());
      }
    }
    return workers;
  }

  /** The request as the prefill worker's protocol reads it. */
  SplitRequest split(Decision.Chosen prefill) {
    ClientRequest request = content.current();
    if (request == null) {
      throw new IllegalStateException("only JSON can be split");
    }
    return new SplitRequest(
        request, SplitRequest.uniqueId(rendezvous.requestId(), rendezvous.rendezvousId()), rendezvous.rendezvousId(),
        prefill.worker(), rendezvous.bootstrap());
  }

  /**
   * The result when prefill has generated everything there is.
   *
   * @param stripUsage whether the event that has usage alone is kept from the client
   */
  Result finalAnswer(
      Decision.Chosen prefill, PrefillResult.FinalAnswer answer, boolean stripUsage, Report report) {
    byte[] body = stripUsage && answer.events() ? UsageFilter.strip(answer.body()) : answer.body();
    String type = answer.events() ? "text/event-stream; charset=utf-8" : "application/json";
    UpstreamRoute route = new UpstreamRoute(prefill.worker(), null, planned.reason() + "; finished by prefill");
    return new Result.Buffered(route, 200, Headers.of("Content-Type", type), body, report);
  }

  /** The plan without a step, whose load is the caller's to release; {@code note} may be empty. */
  PlanState without(String step, String note) {
    return withSteps(steps -> steps.removeIf(chosen -> chosen.step().name().equals(step))).withNote(note);
  }

  /** The plan with a step's worker replaced, as another try. */
  PlanState with(Decision.Chosen replacement, String requestId) {
    PlanState next = withSteps(steps ->
        steps.replaceAll(chosen ->
            chosen.step().name().equals(replacement.step().name()) ? replacement : chosen));
    return new PlanState(next.planned, shape, content, Rendezvous.of(requestId));
  }

  /** The plan with a request that a step has changed. */
  PlanState withRequest(ClientRequest request) {
    return new PlanState(planned, shape, new Content(content.original(), request), rendezvous);
  }

  PlanState withBootstrap(JsonMembers response) {
    Rendezvous known = new Rendezvous(rendezvous.requestId(), rendezvous.rendezvousId(), response);
    return new PlanState(planned, shape, content, known);
  }

  /** The plan with a note behind its reason: what is done otherwise than planned. */
  PlanState withNote(String note) {
    return note.isEmpty() ? this : withPlanned(planned.steps(), planned.reason() + "; " + note);
  }

  private PlanState withSteps(Consumer<List<Decision.Chosen>> change) {
    List<Decision.Chosen> steps = new ArrayList<>(planned.steps());
    change.accept(steps);
    return withPlanned(steps, planned.reason());
  }

  private PlanState withPlanned(List<Decision.Chosen> steps, String reason) {
    return new PlanState(planned.with(steps, reason), shape, content, rendezvous);
  }
}
