package io.kvasir.execution.workflow;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.cell.CachedTokens;
import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.Outcome;
import io.kvasir.cell.Reservation;
import io.kvasir.execution.Call;
import io.kvasir.execution.ExecutionMetrics;
import io.kvasir.execution.ExecutionSettings;
import io.kvasir.execution.Report;
import io.kvasir.execution.Result;
import io.kvasir.execution.UpstreamRoute;
import io.kvasir.execution.attempt.AbortReason;
import io.kvasir.execution.attempt.AttemptResult;
import io.kvasir.execution.attempt.FailureKind;
import io.kvasir.execution.attempt.RetryBudget;
import io.kvasir.execution.attempt.RetryPolicy;
import io.kvasir.execution.dialect.ClientRequest;
import io.kvasir.execution.dialect.EngineRequest;
import io.kvasir.execution.dialect.PrefillResult;
import io.kvasir.execution.dialect.PreprocessingStep;
import io.kvasir.http.Headers;
import io.kvasir.http.StreamingBody;
import io.kvasir.index.Chain;
import io.kvasir.routing.FailurePolicy;
import io.kvasir.routing.KvTransfer;
import io.kvasir.routing.PreparedSlots;
import io.kvasir.routing.RequestFacts;
import io.kvasir.routing.RequestShape;
import io.kvasir.routing.Role;
import io.kvasir.routing.RoutingPlan;
import io.kvasir.routing.Worker;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.ManualClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A workflow without an actor: events go in, effects come out, and its reservations are kept as attempts and cells
 * would keep them. Every event checks what holds for all workflows.
 */
final class WorkflowFixture {
  static final AttemptResult.Failed FAILED = AttemptResult.Failed.of(FailureKind.ERROR, "status 500", true);
  static final AttemptResult.Failed NOT_RETRYABLE = AttemptResult.Failed.of(FailureKind.ERROR, "broken", false);
  static final AttemptResult ABORTED = new AttemptResult.Aborted(AbortReason.NOT_NEEDED);

  final ManualClock clock = new ManualClock();
  final RetryPolicy policy;
  /** Policies by step name, {@link FailurePolicy#NEXT_CANDIDATE} where there is none. */
  final Map<String, FailurePolicy> policies = new LinkedHashMap<>();
  final Map<String, Duration> deadlines = new LinkedHashMap<>();
  final List<Booked> booked = new ArrayList<>();
  final List<WorkflowEffect> history = new ArrayList<>();
  List<WorkflowEffect> effects = List.of();
  WorkflowState state;

  private final WorkflowRules rules;
  private final KvTransfer.Dialect dialect;

  /** A reservation that remembers how often it was closed. */
  static final class Booked implements Reservation {
    final String worker;
    final List<Outcome> closed = new ArrayList<>();
    boolean prefillsLocally;

    Booked(String worker) {
      this.worker = worker;
    }

    @Override
    public void firstToken() {}

    @Override
    public void prefillLocally() {
      prefillsLocally = true;
    }

    @Override
    public void progressed() {}

    @Override
    public void close(Outcome outcome) {
      closed.add(outcome);
    }
  }

  WorkflowFixture(KvTransfer.Dialect dialect, ExecutionSettings.Retries limits, @Nullable Duration hedgeAfter) {
    this(dialect, limits, hedgeAfter, true, "{\"model\":\"m\",\"prompt\":\"Once\"}");
  }

  WorkflowFixture(
      KvTransfer.Dialect dialect,
      ExecutionSettings.Retries limits,
      @Nullable Duration hedgeAfter,
      boolean retryable,
      String body) {
    this.dialect = dialect;
    ExecutionSettings defaults = ExecutionSettings.defaults();
    ExecutionSettings settings = new ExecutionSettings(
        limits, defaults.firstByte(), defaults.idle(), Duration.ofMinutes(1), 1 << 20, hedgeAfter, 10);
    this.policy = new RetryPolicy(
        settings, new RetryBudget(limits, clock), new ExecutionMetrics(new Metrics(new PrometheusRegistry())), clock,
        () -> 1);
    Call call = new Call(
        new DecisionRequest(
            "r", "m", null, RequestShape.TEXT, new DecisionRequest.Prompt(Chain.EMPTY, 1),
            PreparedSlots.EMPTY, true, DecisionRequest.Constraints.NONE),
        RequestFacts.NONE,
        new Call.ClientHttp("POST", "/v1/completions", Headers.EMPTY, body.getBytes(StandardCharsets.UTF_8)),
        new Call.ResponseRules(retryable, true, false, true),
        0);
    this.rules = new WorkflowRules(
        call, policy, Map.of(RoutingPlan.ENCODE, new Echo()), hedgeAfter);
    this.state = WorkflowState.initial(policy.begin(call));
  }

  static WorkflowFixture of(KvTransfer.Dialect dialect) {
    return new WorkflowFixture(dialect, retries(5, 10), null);
  }

  static WorkflowFixture hedging() {
    return new WorkflowFixture(KvTransfer.Dialect.VLLM_NIXL, retries(5, 10), Duration.ofSeconds(1));
  }

  static ExecutionSettings.Retries retries(int tries, int perSecond) {
    return new ExecutionSettings.Retries(tries, Duration.ofMillis(50), Duration.ofSeconds(1), 2, 0, perSecond);
  }

  /** A preprocessing step that leaves requests as they are. */
  private static final class Echo implements PreprocessingStep {
    @Override
    public List<EngineRequest> requests(ClientRequest request, String id) {
      return List.of();
    }

    @Override
    public ClientRequest annotated(ClientRequest request) {
      return request;
    }

    @Override
    public ClientRequest apply(ClientRequest request, List<byte[]> answers) {
      return request.with(request.members().with("encoded", Integer.toString(answers.size())));
    }
  }

  // Plans.

  /** A plan whose steps are written {@code step@worker}. */
  Decision.Planned planned(String... steps) {
    List<Decision.Chosen> chosen = Arrays.stream(steps).map(this::chosen).toList();
    return new Decision.Planned("scripted", RoutingPlan.StepOrder.SEQUENTIAL, chosen, "because");
  }

  private Decision.Chosen chosen(String stepAtWorker) {
    String name = stepAtWorker.substring(0, stepAtWorker.indexOf('@'));
    String id = stepAtWorker.substring(stepAtWorker.indexOf('@') + 1);
    Booked reservation = new Booked(id);
    booked.add(reservation);
    Role role = switch (name) {
      case RoutingPlan.PREFILL -> Role.PREFILL;
      case RoutingPlan.DECODE -> Role.DECODE;
      case RoutingPlan.ENCODE -> Role.ENCODE;
      default -> Role.BOTH;
    };
    KvTransfer transfer = new KvTransfer(
        dialect, "", "127.0.0.1", 9000, "engine-" + id, 1, 1, new KvTransfer.TransferCost(1, 1));
    Worker worker = new Worker(
        id, id, URI.create("http://" + id), 0, 1, 0, role, Set.of("m"), Map.of(), 100, "e", transfer);
    return new Decision.Chosen(
        new RoutingPlan.Step(
            name, role, worker, !name.equals(RoutingPlan.DECODE), List.of(),
            policies.getOrDefault(name, FailurePolicy.NEXT_CANDIDATE), deadlines.get(name)),
        reservation, 0, new CachedTokens(7, 5, 7, 7), false);
  }

  // Events.

  WorkflowFixture start(String... steps) {
    PlanState plan = PlanState.of(rules.call(), planned(steps), "r", null, false);
    return on(new WorkflowEvent.PlanStarted(plan));
  }

  WorkflowFixture on(WorkflowEvent event) {
    boolean finished = state.finished();
    Transition transition = WorkflowTransitions.next(rules, state, event);
    state = transition.state();
    effects = List.copyOf(transition.effects());
    history.addAll(effects);
    for (WorkflowEffect effect : effects) {
      if (effect instanceof WorkflowEffect.Release(Decision.Chosen step, Outcome outcome)) {
        step.reservation().close(outcome);
      } else if (effect instanceof WorkflowEffect.PrefillLocally(Decision.Chosen step)) {
        step.reservation().prefillLocally();
      }
      if (finished) {
        assertThat(effect).as("a finished workflow only cleans up").isInstanceOfAny(
            WorkflowEffect.Release.class, WorkflowEffect.Abort.class, WorkflowEffect.AbandonResponse.class,
            WorkflowEffect.Count.class, WorkflowEffect.InvalidateBootstrap.class);
      }
    }
    assertThat(results()).as("results").hasSizeLessThanOrEqualTo(1);
    return this;
  }

  /** Ends a request of a run, as its attempt would: the reservation is closed with the run's last request. */
  WorkflowFixture ended(StepRun run, int request, AttemptResult result, @Nullable PrefillResult handed) {
    StepRun before = Objects.requireNonNull(state.steps().run(run.id()), "the run has ended");
    if (before.open() == 1 && !(result instanceof AttemptResult.Responded(Result.Streaming _))) {
      run.chosen().reservation().close(new Outcome.Cancelled());
    }
    on(new WorkflowEvent.RequestEnded(run.id(), request, result, handed));
    if (result instanceof AttemptResult.Responded(Result.Streaming _)) {
      // The body is relayed to the client, or was abandoned; either closes the reservation.
      boolean abandoned = effects.contains(new WorkflowEffect.AbandonResponse(run.id(), request));
      boolean relayed = effects.stream().anyMatch(WorkflowEffect.Finish.class::isInstance)
          && resultOf() instanceof Result.Streaming;
      assertThat(abandoned).as("a stream is relayed or abandoned").isNotEqualTo(relayed);
      if (before.open() == 1) {
        run.chosen().reservation().close(new Outcome.Cancelled());
      }
    }
    return this;
  }

  WorkflowFixture ended(String step, AttemptResult result) {
    return ended(run(step), 0, result, null);
  }

  WorkflowFixture prefilled(PrefillResult handed) {
    return ended(run(RoutingPlan.PREFILL), 0, buffered(200), handed);
  }

  WorkflowFixture decided(String... steps) {
    WorkflowEffect.Decide decide = effect(WorkflowEffect.Decide.class);
    return decided(decide, planned(steps));
  }

  WorkflowFixture decided(WorkflowEffect.Decide decide, Decision.Planned planned) {
    PlanState plan = decide.query().toPlan(rules.call(), decide.before(), planned, decide.requestId());
    return on(new WorkflowEvent.DecisionReceived(decide.query(), planned, 10, plan));
  }

  WorkflowFixture noWorker() {
    WorkflowEffect.Decide decide = effect(WorkflowEffect.Decide.class);
    return on(new WorkflowEvent.DecisionReceived(
        decide.query(), new Decision.NoWorker(Decision.NoWorkerReason.NONE_HEALTHY, "none is left"), 10, null));
  }

  /** Delivers the event that was scheduled last. */
  WorkflowFixture elapse() {
    return on(effect(WorkflowEffect.Schedule.class).event());
  }

  static AttemptResult buffered(int status) {
    return new AttemptResult.Responded(response(status));
  }

  static Result.Buffered response(int status) {
    return new Result.Buffered(
        new UpstreamRoute(worker(), null, ""), status, Headers.EMPTY, new byte[] {1},
        new Report(null, null, 1, Report.CachePrediction.NONE, Report.TokenUsage.UNKNOWN, new Report.Timing(0, 0)));
  }

  static AttemptResult streaming() {
    return new AttemptResult.Responded(
        new Result.Streaming(new UpstreamRoute(worker(), null, ""), 200, Headers.EMPTY, StreamingBody.of(sink -> {})));
  }

  private static Worker worker() {
    return new Worker(
        "w", "w", URI.create("http://w"), 0, 1, 0, Role.BOTH, Set.of("m"), Map.of(), 1, "e", null);
  }

  // What came of it.

  /** The latest effect of a kind that the last event had. */
  <T extends WorkflowEffect> T effect(Class<T> kind) {
    return effects.stream().filter(kind::isInstance).map(kind::cast).reduce((first, second) -> second)
        .orElseThrow(() -> new AssertionError("no " + kind.getSimpleName() + " in " + effects));
  }

  /** Runs of that step that have not ended, the latest one. */
  StepRun run(String step) {
    return state.steps().runs().stream().filter(run -> run.name().equals(step)).reduce((first, second) -> second)
        .orElseThrow(() -> new AssertionError("no run of " + step));
  }

  List<WorkflowEffect.StartStep> started() {
    return effects.stream().filter(WorkflowEffect.StartStep.class::isInstance)
        .map(WorkflowEffect.StartStep.class::cast).toList();
  }

  /** The started steps of the last event, written {@code step@worker}. */
  List<String> startedSteps() {
    return started().stream().map(start -> start.run().name() + "@" + start.run().chosen().worker().id()).toList();
  }

  List<WorkflowEffect> results() {
    return history.stream()
        .filter(effect -> effect instanceof WorkflowEffect.Finish || effect instanceof WorkflowEffect.Crash)
        .toList();
  }

  Result resultOf() {
    return history.stream().filter(WorkflowEffect.Finish.class::isInstance).map(WorkflowEffect.Finish.class::cast)
        .findFirst().orElseThrow(() -> new AssertionError("no result: " + history)).result();
  }

  Booked reservation(String worker) {
    return booked.stream().filter(each -> each.worker.equals(worker)).reduce((first, second) -> second)
        .orElseThrow(() -> new AssertionError(worker));
  }

  /** Lets every run that was aborted end, and checks that nothing is left. */
  void assertDone() {
    for (StepRun run : state.steps().runs()) {
      for (int request = 0; request < run.requests() && state.steps().run(run.id()) != null; request++) {
        ended(run, request, ABORTED, null);
      }
    }
    assertThat(state.isDone()).as("done").isTrue();
    assertThat(results()).hasSize(1);
    assertThat(state.steps().reserved()).isEmpty();
    assertThat(booked).allSatisfy(each -> assertThat(each.closed).as("closes of " + each.worker).hasSize(1));
  }
}
