package io.kvasir.execution.workflow;

import io.kvasir.cell.Decision;
import io.kvasir.cell.Outcome;
import io.kvasir.execution.Attempt;
import io.kvasir.execution.Call;
import io.kvasir.execution.ExecutionServices;
import io.kvasir.execution.PodRequests;
import io.kvasir.execution.Report;
import io.kvasir.execution.Result;
import io.kvasir.execution.RetryCounts;
import io.kvasir.execution.Task;
import io.kvasir.execution.UpstreamRoute;
import io.kvasir.execution.dialect.ClientRequest;
import io.kvasir.execution.dialect.EngineRequest;
import io.kvasir.execution.dialect.JsonMembers;
import io.kvasir.execution.dialect.KvTransferProtocol;
import io.kvasir.execution.dialect.PrefillResult;
import io.kvasir.execution.dialect.PreprocessingStep;
import io.kvasir.execution.dialect.SplitRequest;
import io.kvasir.execution.dialect.Translation;
import io.kvasir.http.Headers;
import io.kvasir.http.client.PodRequest;
import io.kvasir.routing.KvTransfer;
import io.kvasir.routing.RoutingPlan;
import java.net.URI;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One attempt at a plan: who does what, and what each worker is asked, from what the ones before have answered.
 * Immutable; what is decided or learnt on the way makes another.
 *
 * @param planned the steps that are left or under way, as they are booked; null before there is a plan
 * @param several whether the plan had several steps
 * @param id {@code X-Request-Id} of the attempt, the same on all its legs
 * @param rendezvousId where the legs of a split request meet
 * @param request what the client asked, as the steps so far have made it; null when nobody needs to know, or it is no
 *     JSON
 * @param requestChanged whether those steps changed it
 * @param singleWorker whether one worker was asked for, because the request cannot be split
 * @param unsupportedReason why the plan's prefill has to be left out, null when nothing speaks against it
 * @param bootstrap what the prefill engine's bootstrap server has told, null while it has not
 * @param notes what is done otherwise than planned, for the reason
 */
record WorkflowState(
    Decision.@Nullable Planned planned,
    boolean several,
    String id,
    long rendezvousId,
    @Nullable ClientRequest request,
    boolean requestChanged,
    boolean singleWorker,
    @Nullable String unsupportedReason,
    @Nullable JsonMembers bootstrap,
    String notes) {
  /** Before there is a plan. */
  static final WorkflowState NONE = new WorkflowState(null, false, "", 0, null, false, false, null, null, "");

  /** Answers that are read here: a long prompt's ids, a connector's state. */
  private static final int READ_HERE = 64 << 20;

  /** A plan that begins; {@code known} is the client's request where it has been read before. */
  static WorkflowState of(
      Call call, Decision.Planned plan, String id, @Nullable ClientRequest known, boolean wholeWanted) {
    boolean several = plan.steps().size() > 1;
    ClientRequest request =
        known != null || !several ? known : ClientRequest.of(call.target(), call.body());
    WorkflowState course = new WorkflowState(plan, several, id, newRoom(), request, false, wholeWanted, null, null, "");
    String unfit = course.prefill() == null ? null
        : request == null ? "not JSON"
        : course.protocol().unsupportedReason(request);
    return new WorkflowState(plan, several, id, course.rendezvousId(), request, false, wholeWanted, unfit, null, "");
  }

  private static long newRoom() {
    return ThreadLocalRandom.current().nextLong() & Long.MAX_VALUE;
  }

  Decision.Planned plan() {
    if (planned == null) {
      throw new IllegalStateException("there is no plan yet");
    }
    return planned;
  }

  // What is to be done.

  /** The first step that is left of those before the prompt is read; null when there is none. */
  Decision.@Nullable Chosen nextPreprocessing() {
    Decision.Chosen first = plan().steps().getFirst();
    return plan().steps().size() == 1 || first.step().name().equals(RoutingPlan.PREFILL) ? null : first;
  }

  /** The worker that reads the prompt for another; null when none does. */
  Decision.@Nullable Chosen prefill() {
    return plan().step(RoutingPlan.PREFILL);
  }

  /** How the engines of the prefill worker's family do it; only while there is a prefill step. */
  KvTransfer.Dialect dialect() {
    Decision.Chosen prefill = prefill();
    KvTransfer transfer = prefill == null ? null : prefill.worker().kvTransfer();
    if (transfer == null) {
      throw new IllegalStateException("a plan of " + plan().workflow() + " has no prefill worker with a kv-transfer");
    }
    return transfer.dialect();
  }

  KvTransferProtocol protocol() {
    return KvTransferProtocol.of(dialect());
  }

  /** The dialect as the configuration spells it, {@code none} without prefill. */
  String dialectName() {
    return planned == null || prefill() == null ? "none" : dialect().name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  /** Whether the plan can be carried out without a step. */
  boolean isOptional(String step) {
    return !step.equals(plan().last().step().name())
        && (!step.equals(RoutingPlan.PREFILL) || dialect().decodeCanPrefill());
  }

  /** The bootstrap server that has to be asked before prefill; null when none has. */
  @Nullable URI bootstrapServer() {
    Decision.Chosen prefill = planned == null ? null : prefill();
    return prefill == null ? null : protocol().bootstrap(prefill.worker());
  }

  /** Ids of the workers of all steps but one, by the steps' names. */
  Map<String, String> workersOfOtherSteps(String step) {
    Map<String, String> placed = new HashMap<>();
    for (Decision.Chosen chosen : plan().steps()) {
      if (!chosen.step().name().equals(step)) {
        placed.put(chosen.step().name(), chosen.worker().id());
      }
    }
    return placed;
  }

  // What becomes of it.

  /** The same without a step, its load being the caller's to give back; {@code note} may be empty. */
  WorkflowState without(String step, String note) {
    return steps(steps -> steps.removeIf(chosen -> chosen.step().name().equals(step))).withNote(note);
  }

  /** The same with a step's worker chosen anew, as another attempt: nobody has seen its id and room. */
  WorkflowState with(Decision.Chosen anew, String nextId) {
    WorkflowState next = steps(steps ->
        steps.replaceAll(chosen -> chosen.step().name().equals(anew.step().name()) ? anew : chosen));
    return new WorkflowState(
        next.planned, several, nextId, newRoom(), request, requestChanged, singleWorker, unsupportedReason, null,
        notes);
  }

  /** The same after a preparation: every message of it was answered. */
  WorkflowState preprocessed(String step, Map<String, PreprocessingStep> preparations, List<byte[]> answers) {
    PreprocessingStep preparation = preparations.get(step);
    ClientRequest before = request;
    if (preparation == null || before == null) {
      throw new IllegalStateException("nothing was prepared by " + step);
    }
    return without(step, "").requesting(preparation.apply(before, answers));
  }

  WorkflowState bootstrapped(JsonMembers told) {
    return new WorkflowState(planned, several, id, rendezvousId, request, requestChanged, singleWorker,
        unsupportedReason, told, notes);
  }

  WorkflowState withNote(String note) {
    return note.isEmpty()
        ? this
        : new WorkflowState(
            planned, several, id, rendezvousId, request, requestChanged, singleWorker, unsupportedReason, bootstrap,
            notes + "; " + note);
  }

  private WorkflowState requesting(ClientRequest next) {
    boolean differs = requestChanged || !next.equals(request);
    return new WorkflowState(planned, several, id, rendezvousId, next, differs, singleWorker, unsupportedReason,
        bootstrap, notes);
  }

  private WorkflowState steps(Consumer<List<Decision.Chosen>> change) {
    List<Decision.Chosen> steps = new ArrayList<>(plan().steps());
    change.accept(steps);
    Decision.Planned next = new Decision.Planned(plan().workflow(), plan().order(), steps, plan().reason());
    return new WorkflowState(next, several, id, rendezvousId, request, requestChanged, singleWorker,
        unsupportedReason, bootstrap, notes);
  }

  // What workers are asked. Computed on threads that may take long, for bodies are large.

  /** What a preparation's worker is sent. */
  PendingPreprocessing preprocessing(Decision.Chosen step, Map<String, PreprocessingStep> preparations) {
    PreprocessingStep preparation = preparations.get(step.step().name());
    if (preparation == null) {
      throw new IllegalStateException(
          "a plan of %s has a step '%s' that nobody knows how to do".formatted(plan().workflow(), step.step().name()));
    }
    ClientRequest before = request;
    return before == null
        ? new PendingPreprocessing(this, List.of())
        : new PendingPreprocessing(requesting(preparation.annotated(before)), preparation.requests(before, id));
  }

  /** One message of a preparation. */
  Task preprocessingTask(Call call, Decision.Chosen chosen, EngineRequest message) {
    return ours(chosen, PodRequests.readByRouter(call, chosen.worker(), id, message), null);
  }

  Task prefill(Call call, Decision.Chosen chosen) {
    EngineRequest message = protocol().prefill(split(chosen));
    return ours(chosen, PodRequests.readByRouter(call, chosen.worker(), id, message), translation());
  }

  /** What a leg's result means for the next; null where it means nothing. */
  @Nullable PrefillResult prefillResult(Decision.Chosen chosen, Attempt.AttemptResult result) {
    boolean awaited = chosen.step().name().equals(RoutingPlan.PREFILL) && !dialect().concurrent();
    return awaited && result instanceof Attempt.AttemptResult.Responded(Result.Buffered whole) && whole.status() < 300
        ? protocol().prefillResult(split(chosen), whole.body())
        : null;
  }

  /** The last worker's part after, or beside, prefill. */
  Task decode(
      Call call, Decision.Chosen prefill, Decision.Chosen chosen, PrefillResult.KvBlocks blocks, Report read,
      ExecutionServices means) {
    EngineRequest message = protocol().decode(split(prefill), blocks);
    Translation translation = translation();
    PodRequest asked = translation == null
        ? PodRequests.passedThrough(call, chosen.worker(), id, message)
        : PodRequests.readByRouter(call, chosen.worker(), id, message);
    return new Task(
        chosen,
        asked,
        new UpstreamRoute(chosen.worker(), prefill.worker(), reason() + "; split=" + dialectName()),
        call.retryable(),
        call.hasTerminator(),
        call.stripUsage(),
        false,
        translation == null ? means.settings().maxBufferedBytes() : READ_HERE,
        translation,
        read);
  }

  /** The last worker does all that is left. */
  Task singleTask(Call call, Decision.Chosen chosen, ExecutionServices means) {
    ClientRequest own = request;
    PodRequest asked = requestChanged && own != null
        ? PodRequests.passedThrough(call, chosen.worker(), id,
            new EngineRequest(own.path(), own.members().bytes(), Map.of()))
        : PodRequests.original(call, chosen.worker(), id);
    return Task.single(call, chosen, asked, reason(), means.settings().maxBufferedBytes());
  }

  /** The prefill worker's answer is all there is. */
  Result finishedByPrefill(Decision.Chosen prefill, PrefillResult.FinalAnswer answer, Report report) {
    String type = answer.events() ? "text/event-stream; charset=utf-8" : "application/json";
    UpstreamRoute route = new UpstreamRoute(prefill.worker(), null, reason() + "; finished by prefill");
    return new Result.Buffered(route, 200, Headers.of("Content-Type", type), answer.body(), report);
  }

  /** A prefill that goes on beside decode: what is known of it is what was predicted. */
  static Report prefillReport(Decision.Chosen prefill, RetryCounts tally) {
    return new Report(
        prefill.worker(), null, tally.tries(), prefill.predictedCachedTokens(), prefill.confirmedCachedTokens(),
        Outcome.UNKNOWN, Outcome.UNKNOWN, Outcome.UNKNOWN, tally.decideNanos(), 0);
  }

  private Task ours(Decision.Chosen chosen, PodRequest asked, @Nullable Translation translation) {
    UpstreamRoute route = new UpstreamRoute(chosen.worker(), null, reason());
    return new Task(chosen, asked, route, true, false, false, true, READ_HERE, translation, null);
  }

  private String reason() {
    return plan().reason() + notes;
  }

  private @Nullable Translation translation() {
    return request == null ? null : protocol().translation(request);
  }

  private SplitRequest split(Decision.Chosen prefill) {
    ClientRequest own = request;
    if (own == null) {
      throw new IllegalStateException("only JSON can be split");
    }
    return new SplitRequest(own, id, rendezvousId, prefill.worker(), bootstrap);
  }
}
