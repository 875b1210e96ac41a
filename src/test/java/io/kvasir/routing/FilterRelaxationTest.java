package io.kvasir.routing;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.routing.cost.CostModel;
import io.kvasir.routing.cost.OutputLengths;
import io.kvasir.routing.plugins.BuiltInPlugins;
import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A filter that would rather not be heeded than see a request refused, and what plugins say in reasons. */
final class FilterRelaxationTest {
  private static final String FIRST = "role, model, first, excluded, concurrency-limit";
  private static final String LAST = "role, model, excluded, concurrency-limit, first";

  private final TestFleet fleet = TestFleet.of(3);
  private boolean gives = true;
  private int relaxCalls;

  /** Keeps the worker in the first slot. */
  private final Filter keepsFirst =
      new Filter() {
        @Override
        public void filter(RoutingContext context, Candidates candidates) {
          context.note("first", "kept");
          candidates.live[0] &= 1;
        }

        @Override
        public UnmetNeed unmetNeed() {
          return UnmetNeed.ASKED_FOR;
        }

        @Override
        public boolean relax(RoutingContext context) {
          relaxCalls++;
          if (gives) {
            context.note("first", "unable");
          }
          return gives;
        }
      };

  @ParameterizedTest
  @ValueSource(strings = {FIRST, LAST})
  void ableWorker_isHeeded(String filters) {
    assertThat(plan(filters, Set.of()).reason()).contains("candidates=1").endsWith("; first=kept");
    assertThat(fleet.bookedSlots).containsExactly(0);
    assertThat(relaxCalls).isZero();
  }

  @ParameterizedTest
  @ValueSource(strings = {FIRST, LAST})
  void fullWorker_theOthersMay(String filters) {
    fleet.inFlight[0] = 100;

    assertThat(plan(filters, Set.of()).reason()).contains("candidates=2").endsWith("; first=unable");
    assertThat(fleet.bookedSlots).containsAnyOf(1, 2).hasSize(1);
  }

  @ParameterizedTest
  @ValueSource(strings = {FIRST, LAST})
  void failedWorker_theOthersMay(String filters) {
    assertThat(plan(filters, Set.of("w0")).reason()).endsWith("; first=unable");
    assertThat(fleet.bookedSlots).containsAnyOf(1, 2).hasSize(1);
  }

  @Test
  void workerFilledBehindOurBack_theOthersMay() {
    fleet.inFlight[0] = 100;

    assertThat(plan("role, model, first, excluded", Set.of()).reason()).endsWith("; first=unable");
    assertThat(fleet.bookedSlots).containsAnyOf(1, 2).hasSize(1);
  }

  @Test
  void explanation_isOfThePassThatCounted() {
    List<Explanation> explanations = new ArrayList<>();

    PlanningSession.plan(workflow(LAST), fleet, Routing.request("m", Role.BOTH, Set.of("w0")), null, explanations::add);

    assertThat(explanations).hasSize(1);
    assertThat(explanations.getFirst().candidates())
        .extracting(Explanation.Candidate::removedBy)
        .containsExactly("excluded", null, null);
  }

  @Test
  void nobodyAtAll_isRefusedAsWithoutIt() {
    PlanResult none = PlanningSession.plan(workflow(LAST), fleet, Routing.request("other", Role.BOTH, Set.of()), null);

    assertThat(none)
        .isInstanceOfSatisfying(PlanResult.NoPlan.class, n -> assertThat(n.unmetNeed()).isEqualTo(UnmetNeed.MODEL));
    assertThat(relaxCalls).isEqualTo(1);
  }

  @Test
  void nobodyAlive_isNotAsked() {
    fleet.alive[0] = false;
    fleet.alive[1] = false;
    fleet.alive[2] = false;

    PlanResult none = PlanningSession.plan(workflow(LAST), fleet, Routing.request("m", Role.BOTH, Set.of()), null);

    assertThat(none)
        .isInstanceOfSatisfying(PlanResult.NoPlan.class, n -> assertThat(n.unmetNeed()).isEqualTo(UnmetNeed.LIVE));
    assertThat(relaxCalls).isZero();
  }

  @Test
  void filterThatInsists_isHeeded() {
    gives = false;

    PlanResult none = PlanningSession.plan(workflow(LAST), fleet, Routing.request("m", Role.BOTH, Set.of("w0")), null);

    assertThat(none)
        .isInstanceOfSatisfying(PlanResult.NoPlan.class, n -> assertThat(n.unmetNeed()).isEqualTo(UnmetNeed.ASKED_FOR));
  }

  @Test
  void notes_replaceWhatWasSaidOfTheSame() {
    RoutingContext context = Routing.request("m", Role.BOTH, Set.of());
    assertThat(context.notes()).isEmpty();

    context.note("a", "1");
    context.note("b", "2");
    context.note("a", "3");

    assertThat(context.notes()).isEqualTo("; a=3; b=2");
  }

  private PlanResult.PlanFound plan(String filters, Set<String> excluded) {
    return (PlanResult.PlanFound)
        PlanningSession.plan(workflow(filters), fleet, Routing.request("m", Role.BOTH, excluded), null);
  }

  private Workflow workflow(String filters) {
    CostModel costs = CostModel.bundled();
    PluginRegistry plugins =
        BuiltInPlugins.registry(costs, new OutputLengths(), PluginType.filter("first", _ -> keepsFirst));
    String mine =
        "mine { prepare = [ tokenize, block-hash ], filter = [ %s ], pick = random, execute = forward }"
            .formatted(filters);
    Profile profile = Objects.requireNonNull(new ProfileCompiler(plugins).compile(Routing.config(mine)).get("mine"));
    RoutingMetrics metrics = new RoutingMetrics(new Metrics(new PrometheusRegistry()));
    return profile.workflow(
        part -> new Selector(part, costs, new SplittableRandom(5), metrics, System::nanoTime), metrics);
  }
}
