package io.kvasir.routing;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.routing.KvTransfer.Dialect;
import io.kvasir.routing.RoutingPlan.Step;
import io.kvasir.routing.RoutingPlan.StepOrder;
import io.kvasir.telemetry.TestMetrics;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Two prefill and two decode workers, slots 0 to 3, and a prompt of 8,000 tokens: about 300 ms to read. */
final class PrefillDecodeTest {
  private static final int BLOCKS = 500;
  private static final int BLOCK = 16;
  private static final int TOKENS = BLOCKS * BLOCK + 3;

  private final Routing routing = new Routing(1);
  private TestFleet fleet = fleet(Dialect.VLLM_NIXL);

  private static TestFleet fleet(Dialect dialect) {
    return new TestFleet(
        TestFleet.worker(0, Role.PREFILL, dialect, "", 100),
        TestFleet.worker(1, Role.PREFILL, dialect, "", 100),
        TestFleet.worker(2, Role.DECODE, dialect, "", 100),
        TestFleet.worker(3, Role.DECODE, dialect, "", 100));
  }

  private static RoutingContext request() {
    return Routing.request(BLOCKS, BLOCK, TOKENS);
  }

  private PlanResult plan(String settings) {
    return PlanningSession.plan(routing.workflow("prefill-decode", settings), fleet, request(), null);
  }

  private PlanResult.PlanFound made(String settings) {
    PlanResult planning = plan(settings);
    assertThat(planning).isInstanceOf(PlanResult.PlanFound.class);
    return (PlanResult.PlanFound) planning;
  }

  private PlanResult.PlanFound made() {
    return made("");
  }

  private static List<String> steps(PlanResult.PlanFound made) {
    return made.plan().steps().stream().map(Step::name).toList();
  }

  private int booked() {
    return fleet.bookedSlots.size();
  }

  private double plans(String kind) {
    return TestMetrics.sum(routing.registry, "kvasir_routing_plans", kind);
  }

  @Test
  void plan_coldPrompt_isReadByOneAndContinuedByAnother() {
    fleet.inFlight[2] = 5;
    fleet.inFlight[3] = 9;
    fleet.contextTokens[3] = 50_000;
    PlanResult.PlanFound made = made();

    assertThat(steps(made)).containsExactly("prefill", "decode");
    assertThat(made.plan().workflow()).isEqualTo("prefill-decode");
    assertThat(made.plan().order()).isEqualTo(StepOrder.SEQUENTIAL);
    Step prefill = made.plan().steps().get(0);
    Step decode = made.plan().steps().get(1);
    assertThat(prefill.role()).isEqualTo(Role.PREFILL);
    assertThat(prefill.readsPrompt()).isTrue();
    assertThat(prefill.onFailure()).isEqualTo(FailurePolicy.NEXT_CANDIDATE_THEN_WITHOUT);
    assertThat(prefill.deadline()).isEqualTo(Duration.ofMinutes(1));
    assertThat(decode.worker().id()).isEqualTo("w2");
    assertThat(decode.readsPrompt()).isFalse();
    assertThat(decode.alternatives()).extracting(Worker::id).containsExactly("w3");
    assertThat(made.reason()).startsWith("prefill-decode; prefill=" + prefill.worker().id() + ":0/500; cost=");
    assertThat(plans("remote")).isEqualTo(1);
  }

  @Test
  void plan_booksThePromptWhereItIsRead() {
    fleet.inFlight[2] = 8;
    fleet.inFlight[3] = 8;
    PlanResult.PlanFound made = made();

    assertThat(fleet.pendingTokens[made.chosen().get(0).slot()]).isEqualTo(TOKENS);
    int decode = made.chosen().get(1).slot();
    assertThat(fleet.pendingTokens[decode]).isEqualTo(1);
    assertThat(fleet.contextTokens[decode]).isEqualTo(TOKENS);
    assertThat(made.chosen().get(1).localBooking().uncachedTokens()).isEqualTo(TOKENS);
  }

  @ParameterizedTest
  @EnumSource
  void plan_ordersLegsAsTheDialectDoes(Dialect dialect) {
    fleet = fleet(dialect);
    PlanResult.PlanFound made = made("prefill-decode.workflow.remote-prefill = always");

    assertThat(made.plan().order()).isEqualTo(dialect.concurrent() ? StepOrder.CONCURRENT : StepOrder.SEQUENTIAL);
    assertThat(made.plan().steps().getFirst().onFailure())
        .isEqualTo(
            dialect.decodeCanPrefill()
                ? FailurePolicy.NEXT_CANDIDATE_THEN_WITHOUT
                : FailurePolicy.NEXT_CANDIDATE);
  }

  @Test
  void plan_decodeWorkerHoldsEnough_readsTheRestItself() {
    fleet.depth[3] = BLOCKS - 10;
    PlanResult.PlanFound made = made();

    assertThat(steps(made)).containsExactly("decode");
    assertThat(made.chosen().getFirst().slot()).isEqualTo(3);
    assertThat(made.plan().steps().getFirst().readsPrompt()).isTrue();
    assertThat(fleet.pendingTokens[3]).isEqualTo(163);
    assertThat(booked()).as("the prefill worker's load is given back").isEqualTo(1);
    assertThat(made.reason()).contains("; prefill=local:held; depth=490/500");
    assertThat(plans("held")).isEqualTo(1);
  }

  @Test
  void plan_prefillWorkersBusy_idleDecodeWorkerReadsItself_busyOneDoesNot() {
    fleet.queueMs[0] = 30_000;
    fleet.queueMs[1] = 30_000;
    assertThat(made().reason()).contains("prefill=local:cheaper");

    fleet = fleet(Dialect.VLLM_NIXL);
    fleet.queueMs[0] = 1_000;
    fleet.queueMs[1] = 1_000;
    fleet.inFlight[2] = 60;
    fleet.inFlight[3] = 60;
    assertThat(steps(made())).containsExactly("prefill", "decode");
  }

  @Test
  void plan_dearLink_isNotUsed() {
    fleet.inFlight[2] = 3;
    fleet.inFlight[3] = 3;
    assertThat(steps(made())).hasSize(2);
    Worker[] workers = fleet.workers.clone();
    fleet = fleet(Dialect.VLLM_NIXL);
    for (int slot = 2; slot < 4; slot++) {
      fleet.inFlight[slot] = 3;
      KvTransfer slow =
          new KvTransfer(Dialect.VLLM_NIXL, "", "h", 0, "", 1, 1, new KvTransfer.TransferCost(500, 5));
      fleet.workers[slot] =
          new Worker(
              "w" + slot, "w" + slot, workers[slot].url(), 0, 1, slot, Role.DECODE, Set.of("m"), Map.of(), 100,
              "h100-Qwen2.5-7B-tp1", slow);
    }
    assertThat(steps(made())).containsExactly("decode");
  }

  @Test
  void plan_always_takesAnyPrefillWorkerWhateverItCosts() {
    fleet.queueMs[0] = 30_000;
    fleet.queueMs[1] = 40_000;
    fleet.depth[3] = BLOCKS - 10;
    PlanResult.PlanFound made = made("prefill-decode.workflow.remote-prefill = always");

    assertThat(steps(made)).containsExactly("prefill", "decode");
    assertThat(made.chosen().getFirst().slot()).isZero();
  }

  @Test
  void plan_never_leavesPrefillWorkersAlone() {
    PlanResult.PlanFound made = made("prefill-decode.workflow.remote-prefill = never");
    assertThat(steps(made)).containsExactly("decode");
    assertThat(made.reason()).contains("prefill=local:never");
    assertThat(plans("never")).isEqualTo(1);
  }

  @Test
  void plan_requestThatCannotBeDivided_isServedByOne() {
    RoutingContext request = request().put(Slots.REQUEST_SHAPE, RequestShape.INDIVISIBLE);
    PlanResult planning = PlanningSession.plan(routing.workflow("prefill-decode", ""), fleet, request, null);
    assertThat(steps((PlanResult.PlanFound) planning)).containsExactly("decode");
    assertThat(plans("indivisible")).isEqualTo(1);
  }

  @Test
  void plan_withoutPrefillWorkers_decodeWorkersDoIt_whereTheyCan() {
    fleet.alive[0] = false;
    fleet.alive[1] = false;
    assertThat(made().reason()).contains("prefill=local:no-worker");

    fleet = fleet(Dialect.SGLANG);
    fleet.alive[0] = false;
    fleet.alive[1] = false;
    assertThat(plan(""))
        .isInstanceOfSatisfying(
            PlanResult.NoPlan.class,
            none ->
                assertThat(none.detail())
                    .contains("prefill and decode: none of 2 live workers has the role asked for, prefill: they have ")
                    .contains("one for both: "));
    assertThat(booked()).isZero();
  }

  @ParameterizedTest
  @EnumSource(Dialect.class)
  void plan_prefillWorkersWhosePromptsAreNotReceived_areLeftOut_whereDecodeWorkersCanComputeThem(Dialect dialect) {
    fleet = fleet(dialect);
    String always = "prefill-decode.workflow.remote-prefill = always";
    fleet.notHandingOver = new long[] {0b01};
    PlanResult.PlanFound other = made(always);
    assertThat(steps(other)).containsExactly("prefill", "decode");
    if (dialect.decodeCanPrefill()) {
      assertThat(other.plan().steps().getFirst().worker().id()).isEqualTo("w1");
      assertThat(other.reason()).endsWith("; not-handing-over=1");
    }

    fleet.notHandingOver = new long[] {0b11};
    PlanResult.PlanFound made = made(always);

    if (dialect.decodeCanPrefill()) {
      assertThat(steps(made)).containsExactly("decode");
      assertThat(made.reason()).contains("; prefill=local:no-worker; ").endsWith("; not-handing-over=2");
    } else {
      assertThat(steps(made)).containsExactly("prefill", "decode");
    }
  }

  @Test
  void aProfileOfOneStep_namesTheOneThatDividesRequests() {
    assertThat(routing.selector("expected-cost").select(fleet(Dialect.VLLM_NIXL), Routing.request(1, 16, 20)))
        .isInstanceOfSatisfying(
            Selection.None.class,
            none -> assertThat(none.detail()).isEqualTo(
                "none of 4 live workers has the role asked for, both: they have prefill and decode, among which the"
                    + " profile prefill-decode divides requests"));
  }

  @Test
  void plan_withoutDecodeWorkers_aggregatedOnesDoIt() {
    fleet =
        new TestFleet(
            TestFleet.worker(0, Role.PREFILL, Dialect.SGLANG, "", 100),
            TestFleet.worker(1, Role.BOTH, Set.of("m"), 100, "h100-Qwen2.5-7B-tp1"));
    PlanResult.PlanFound made = made();
    assertThat(steps(made)).containsExactly("decode");
    assertThat(made.chosen().getFirst().slot()).isEqualTo(1);
    assertThat(made.reason()).contains("prefill=local:unpaired");
    assertThat(fleet.inFlight[0]).isZero();
  }

  @Test
  void plan_neverPairsWorkersOfDifferentDialectsOrGroups() {
    for (int i = 0; i < 50; i++) {
      fleet =
          new TestFleet(
              TestFleet.worker(0, Role.PREFILL, Dialect.SGLANG, "a", 2),
              TestFleet.worker(1, Role.DECODE, Dialect.SGLANG, "b", 100),
              TestFleet.worker(2, Role.PREFILL, Dialect.SGLANG, "b", 100),
              TestFleet.worker(3, Role.DECODE, Dialect.SGLANG, "a", 100),
              TestFleet.worker(4, Role.DECODE, Dialect.VLLM_PUSH, "a", 100));
      fleet.queueMs[i % 3] = 500;
      PlanResult.PlanFound made = made("prefill-decode.workflow.remote-prefill = always");
      assertThat(made.plan().steps().get(0).worker().pairsWith(made.plan().steps().get(1).worker())).isTrue();
    }
  }

  @Test
  void plan_islandWithoutRoom_yieldsToAnother() {
    fleet =
        new TestFleet(
            TestFleet.worker(0, Role.PREFILL, Dialect.SGLANG, "a", 100),
            TestFleet.worker(1, Role.DECODE, Dialect.SGLANG, "a", 1),
            TestFleet.worker(2, Role.PREFILL, Dialect.SGLANG, "b", 100),
            TestFleet.worker(3, Role.DECODE, Dialect.SGLANG, "b", 1));
    fleet.queueMs[2] = 500;
    fleet.inFlight[1] = 1;
    PlanResult.PlanFound made = made();
    assertThat(made.chosen()).extracting(Selection.Chosen::slot).containsExactly(2, 3);
    assertThat(fleet.inFlight[0]).isZero();

    assertThat(plan(""))
        .isInstanceOfSatisfying(
            PlanResult.NoPlan.class, none -> assertThat(none.unmetNeed()).isEqualTo(UnmetNeed.ROOM));
    assertThat(fleet.inFlight).startsWith(0, 1, 1, 1);
  }

  @Test
  void again_prefill_findsAnotherForTheSameDecodeWorker() {
    Workflow workflow = routing.workflow("prefill-decode", "");
    RoutingContext request =
        Routing.request("m", Role.BOTH, Set.of("w0"))
            .put(Slots.PROMPT_TOKENS, TOKENS)
            .put(Slots.CHAIN, request().get(Slots.CHAIN));
    PlanResult planning =
        PlanningSession.plan(
            workflow, fleet, request, new PlanningSession.StepReplan("prefill", Map.of("decode", fleet.workers[3])));
    assertThat(((PlanResult.PlanFound) planning).plan().steps())
        .singleElement()
        .satisfies(
            step -> {
              assertThat(step.name()).isEqualTo("prefill");
              assertThat(step.worker().id()).isEqualTo("w1");
              assertThat(step.onFailure()).isEqualTo(FailurePolicy.NEXT_CANDIDATE_THEN_WITHOUT);
            });
    assertThat(booked()).isEqualTo(1);
  }

  @Test
  void again_decode_takesFromThePrefillWorkerThatIsThere() {
    PlanResult planning =
        PlanningSession.plan(
            routing.workflow("prefill-decode", ""),
            fleet,
            request(),
            new PlanningSession.StepReplan("decode", Map.of("prefill", fleet.workers[0])));
    assertThat(((PlanResult.PlanFound) planning).plan().steps())
        .singleElement()
        .satisfies(
            step -> {
              assertThat(step.name()).isEqualTo("decode");
              assertThat(step.readsPrompt()).isFalse();
            });
  }

  @Test
  void explain_tellsOfBothPasses_andBooksNothing() {
    List<Explanation> explanations = new ArrayList<>();
    fleet.inFlight[2] = 8;
    fleet.inFlight[3] = 8;
    PlanResult planning =
        PlanningSession.explain(routing.workflow("prefill-decode", ""), fleet, request(), null, explanations::add);
    assertThat(steps((PlanResult.PlanFound) planning)).containsExactly("prefill", "decode");
    assertThat(explanations)
        .extracting(Explanation::profile)
        .containsExactly("prefill-decode.prefill", "prefill-decode.decode");
    assertThat(booked()).isZero();
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void nearPrefill_prefersTheSameZone(int prefill) {
    fleet.queueMs[1 - prefill] = 10_000;
    PlanResult.PlanFound made =
        made(
            """
            prefill-decode.workflow {
              remote-prefill = always
              decode.score = { plugin = near-prefill, label = zone }
            }
            """);
    assertThat(made.chosen()).extracting(Selection.Chosen::slot).containsExactly(prefill, prefill + 2);
  }

  @Test
  void encode_comesFirst_andOnlyForMedia() {
    fleet =
        new TestFleet(
            TestFleet.worker(0, Role.PREFILL, Dialect.VLLM_NIXL, "", 100),
            TestFleet.worker(1, Role.DECODE, Dialect.VLLM_NIXL, "", 100),
            TestFleet.worker(2, Role.ENCODE, Set.of("m"), 1, "e"));
    String always = "encode-prefill-decode.workflow.remote-prefill = always";
    Workflow workflow = routing.workflow("encode-prefill-decode", always);

    assertThat(media(workflow, 0)).containsExactly("prefill", "decode");
    assertThat(media(workflow, 2)).containsExactly("encode", "prefill", "decode");
    assertThat(media(workflow, 2)).as("the encode worker is full").containsExactly("prefill", "decode");
    assertThat(fleet.inFlight).startsWith(3, 3, 1);

    fleet.alive[1] = false;
    fleet.alive[0] = false;
    fleet.inFlight[2] = 0;
    assertThat(media(workflow, 2)).isEmpty();
    assertThat(fleet.inFlight[2]).as("given back").isZero();
  }

  private List<String> media(Workflow workflow, int items) {
    RoutingContext request = request().put(Slots.REQUEST_SHAPE, new RequestShape(true, items, false, false, false));
    return PlanningSession.plan(workflow, fleet, request, null) instanceof PlanResult.PlanFound made ? steps(made)
        : List.of();
  }

  /** A pattern of one's own is one class, and a line in the registry. */
  @Test
  void plan_threeStepsOfOnesOwn() {
    Map<String, Profile> compiled =
        routing
            .compiler(
                new WorkflowType(
                    "preprocess-prefill-decode",
                    List.of(
                        new WorkflowType.StepType("preprocess", "", ""),
                        new WorkflowType.StepType("prefill", "pair", "it could not hand over"),
                        new WorkflowType.StepType("decode", "pair", "it could not take over")),
                    parameters -> {
                      int leastTokens = parameters.whole("preprocess-from", 1000, 1, 1_000_000);
                      return (profile, selectors, metrics) ->
                          new PreprocessWorkflow(
                              leastTokens,
                              Map.of(
                                  "preprocess", selectors.apply("preprocess"),
                                  "prefill", selectors.apply("prefill"),
                                  "decode", selectors.apply("decode")));
                    }))
            .compile(
                Routing.config(
                    """
                    cpu { prepare = [ tokenize, block-hash ], filter = [ role, model, excluded ], pick = random
                      execute = forward }
                    gpu { prepare = [ tokenize, block-hash, partner ], filter = [ role, model, excluded, pair ]
                      score = expected-cost, pick = max-score, execute = forward }
                    mine.workflow { name = preprocess-prefill-decode, preprocess-from = 5000
                      preprocess = cpu, prefill = gpu, decode = gpu }
                    """));
    fleet =
        new TestFleet(
            TestFleet.worker(0, Role.ENCODE, Set.of("m"), 100, "e"),
            TestFleet.worker(1, Role.PREFILL, Dialect.VLLM_NIXL, "", 100),
            TestFleet.worker(2, Role.DECODE, Dialect.VLLM_NIXL, "", 100));
    Workflow workflow = routing.workflow(compiled, "mine");

    PlanResult planning = PlanningSession.plan(workflow, fleet, request(), null);
    assertThat(steps((PlanResult.PlanFound) planning)).containsExactly("preprocess", "prefill", "decode");
    assertThat(fleet.inFlight).startsWith(1, 1, 1);
    fleet.alive[2] = false;
    assertThat(PlanningSession.plan(workflow, fleet, request(), null)).isInstanceOf(PlanResult.NoPlan.class);
    assertThat(fleet.inFlight).startsWith(1, 1, 1);
  }

  /** Long documents are cut and cleaned by workers without accelerators before they are read. */
  private static final class PreprocessWorkflow implements Workflow {
    private final int leastTokens;
    private final Map<String, Selector> selectors;

    PreprocessWorkflow(int leastTokens, Map<String, Selector> selectors) {
      this.leastTokens = leastTokens;
      this.selectors = selectors;
    }

    @Override
    public PlanResult plan(PlanningSession passes) {
      List<Step> steps = new ArrayList<>();
      List<Selection.Chosen> chosen = new ArrayList<>();
      boolean all = Slots.promptTokens(passes.context()) < leastTokens
          || add(passes, "preprocess", Role.ENCODE, steps, chosen) != null;
      Worker reader = all ? add(passes, "prefill", Role.PREFILL, steps, chosen) : null;
      if (reader == null) {
        return new PlanResult.NoPlan(UnmetNeed.ROLE, "nobody preprocesses or reads");
      }
      passes.context()
          .put(Slots.PARTNER, Partner.ofPrefill(reader, 0, new Partner.SplitTerms(Partner.SplitMode.ALWAYS, 0, 1, 0)));
      return add(passes, "decode", Role.DECODE, steps, chosen) == null
          ? new PlanResult.NoPlan(UnmetNeed.ROLE, "nobody generates")
          : new PlanResult.PlanFound(new RoutingPlan("preprocess-prefill-decode", StepOrder.SEQUENTIAL, steps),
              chosen, "mine");
    }

    private @Nullable Worker add(
        PlanningSession passes, String name, Role role, List<Step> steps, List<Selection.Chosen> chosen) {
      Selector selector = selectors.get(name);
      if (selector != null && passes.select(selector, role) instanceof Selection.Chosen found) {
        steps.add(found.step(name));
        chosen.add(found);
        return found.worker();
      }
      return null;
    }

    @Override
    public PlanResult replan(PlanningSession passes, String step, Map<String, Worker> placed) {
      return plan(passes);
    }
  }
}
