package io.kvasir.routing;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.routing.cost.CostModel;
import io.kvasir.routing.cost.OutputLengths;
import io.kvasir.routing.plugins.BuiltInPlugins;
import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;

/** The plugins semantic-cluster: the slot that is transferred to the cell, and the workers that remain. */
final class SemanticClusterTest {
  private static final SemanticCluster CODE = new SemanticCluster("code", "skill=code");
  private static final SemanticCluster NOBODYS = new SemanticCluster("poems", "skill=poems");

  private final TestFleet fleet =
      TestFleet.labelled(Map.of("skill", "code"), Map.of("skill", "code"), Map.of("skill", "chat"), Map.of());
  private final List<String> classified = new ArrayList<>();
  private final List<String> unserved = new ArrayList<>();
  private CompletionStage<SemanticCluster> answer = CompletableFuture.completedStage(CODE);
  private Duration budget = Duration.ofSeconds(60);

  private final TextClusters clusters =
      new TextClusters() {
        @Override
        public CompletionStage<SemanticCluster> of(String text) {
          classified.add(text);
          return answer;
        }

        @Override
        public Duration budget() {
          return budget;
        }

        @Override
        public void onUnserved(SemanticCluster cluster) {
          unserved.add(cluster.name());
        }
      };

  @Test
  void request_goesToTheWorkersOfItsCluster() {
    for (int i = 0; i < 20; i++) {
      assertThat(plan(profile(""), Set.of()).reason()).contains("candidates=2").endsWith("; cluster=code");
    }
    assertThat(fleet.bookedSlots).hasSize(20).isSubsetOf(0, 1);
    assertThat(classified).containsOnly("and at last");
  }

  @Test
  void request_byItsFirstText() {
    plan(profile("first"), Set.of());

    assertThat(classified).containsExactly("at first");
  }

  @Test
  void noText_noCluster() {
    RoutingContext context = arrived(Map.of());
    profile("").prepare(context);

    assertThat(context.get(Slots.SEMANTIC_CLUSTER)).isEqualTo(SemanticCluster.NONE);
    assertThat(classified).isEmpty();
    assertThat(context.missedLookups()).isZero();
  }

  @Test
  void noCluster_allMay() {
    answer = CompletableFuture.completedStage(SemanticCluster.NONE);

    assertThat(plan(profile(""), Set.of()).reason()).contains("candidates=4").endsWith("; cluster=none");
  }

  @Test
  void failure_allMay_andItShows() {
    answer = CompletableFuture.failedStage(new IllegalStateException("away"));

    assertThat(plan(profile(""), Set.of()).reason()).contains("candidates=4").endsWith("; cluster=unknown");
  }

  @Test
  void lateAnswer_allMay_andItShows() {
    budget = Duration.ofMillis(1);
    answer = new CompletableFuture<>();
    RoutingContext context = arrived(Map.of("last text", "slow"));

    PreparedSlots prepared = profile("").prepare(context);

    assertThat(prepared.texts()).containsEntry("semantic-cluster", "unknown\n");
    assertThat(context.missedLookups()).isEqualTo(1);
  }

  @Test
  void unservedCluster_allMay_andItIsCounted_butNotInADryRun() {
    fleet.alive[1] = false;

    assertThat(plan(profile(""), Set.of("w0")).reason()).contains("candidates=2").endsWith("; cluster=code:unserved");
    assertThat(unserved).containsExactly("code");
    PlanResult.PlanFound dry =
        (PlanResult.PlanFound) PlanningSession.explain(workflow(profile("")), fleet,
            atHome(profile(""), Set.of("w0")), null, _ -> {});
    assertThat(dry.reason()).endsWith("; cluster=code:unserved");
    assertThat(unserved).hasSize(1);
  }

  @Test
  void clusterWithoutWorkers_allMay() {
    answer = CompletableFuture.completedStage(NOBODYS);

    assertThat(plan(profile(""), Set.of()).reason()).contains("candidates=4").endsWith("; cluster=poems:unserved");
  }

  @Test
  void nobodyAtAll_withoutACluster_isRefused() {
    answer = CompletableFuture.completedStage(SemanticCluster.NONE);

    PlanResult none =
        PlanningSession.plan(
            workflow(profile("")), fleet, atHome(profile(""), Set.of("w0", "w1", "w2", "w3")), null);

    assertThat(none).isInstanceOf(PlanResult.NoPlan.class);
    assertThat(unserved).isEmpty();
  }

  @Test
  void name_isNoSecretInRecords() {
    assertThat(Slot.isConfidential(Slots.SEMANTIC_CLUSTER.name())).isFalse();
    assertThat(Slot.isConfidential(Slots.SESSION_KEY.name())).isTrue();
    assertThat(Slot.isConfidential("of-another-version")).isTrue();
  }

  private PlanResult.PlanFound plan(Profile profile, Set<String> excluded) {
    return (PlanResult.PlanFound) PlanningSession.plan(workflow(profile), fleet, atHome(profile, excluded), null);
  }

  /** A request that was prepared where it arrived, as another node has it. */
  private static RoutingContext atHome(Profile profile, Set<String> excluded) {
    PreparedSlots prepared =
        profile.prepare(arrived(Map.of("first text", "at first", "last text", "and at last")));
    RoutingContext context = Routing.request("m", Role.BOTH, excluded);
    prepared.restoreInto(context);
    return context;
  }

  private static RoutingContext arrived(Map<String, String> facts) {
    return Routing.request(1, 16, 20).put(Slots.FACTS, TestFacts.of(facts));
  }

  private Workflow workflow(Profile profile) {
    RoutingMetrics metrics = new RoutingMetrics(new Metrics(new PrometheusRegistry()));
    return profile.workflow(
        part -> new Selector(part, CostModel.bundled(), new SplittableRandom(5), metrics, System::nanoTime), metrics);
  }

  private Profile profile(String turn) {
    PluginRegistry plugins =
        BuiltInPlugins.registry(
            CostModel.bundled(), new OutputLengths(), new ExternalMetrics(), clusters, CacheLayer.NONE);
    String mine =
        """
        mine {
          prepare = [ tokenize, block-hash, { plugin = semantic-cluster%s } ]
          filter = [ role, model, excluded, concurrency-limit, semantic-cluster ]
          pick = random
          execute = forward
        }
        """
            .formatted(turn.isEmpty() ? "" : ", turn = " + turn);
    return Objects.requireNonNull(new ProfileCompiler(plugins).compile(Routing.config(mine)).get("mine"));
  }
}
