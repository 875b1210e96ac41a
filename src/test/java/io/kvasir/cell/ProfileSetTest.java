package io.kvasir.cell;

import static org.assertj.core.api.Assertions.assertThat;

import com.typesafe.config.ConfigFactory;
import io.kvasir.routing.LiveProfiles;
import io.kvasir.routing.ProfileChoice;
import io.kvasir.routing.ProfileCompiler;
import io.kvasir.routing.Profiles;
import io.kvasir.routing.RoutingMetrics;
import io.kvasir.routing.Workflow;
import io.kvasir.routing.cost.CostModel;
import io.kvasir.routing.cost.OutputLengths;
import io.kvasir.routing.plugins.BuiltInPlugins;
import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import io.prometheus.metrics.model.snapshots.CounterSnapshot;
import org.junit.jupiter.api.Test;

/** A cell's workflows while profiles come and go. */
final class ProfileSetTest {
  private final CostModel costs = CostModel.bundled();
  private final OutputLengths outputs = new OutputLengths();
  private final ProfileCompiler compiler = new ProfileCompiler(BuiltInPlugins.registry(costs, outputs));
  private final PrometheusRegistry registry = new PrometheusRegistry();
  private final LiveProfiles live = new LiveProfiles(profiles("", "random"));
  private final ProfileSet.CellWorkflows workflows =
      new ProfileSet(live, costs, outputs, new RoutingMetrics(new Metrics(registry))).workflows();

  @Test
  void of_afterAReload_newForWhatChangedAndTheSameForTheRest() {
    Workflow turns = workflows.of("round-robin");
    Workflow changed = workflows.of("expected-cost");

    live.replace(profiles("expected-cost.score.kappa = 8", "random"));

    assertThat(workflows.of("round-robin")).isSameAs(turns);
    assertThat(workflows.of("expected-cost")).isNotSameAs(changed);
    assertThat(workflows.of("expected-cost")).isSameAs(workflows.of("expected-cost"));
  }

  @Test
  void of_afterAReloadOfAStepsProfile_newForWhatIsMadeOfIt() {
    String own =
        """
        mine.workflow { name = prefill-decode, prefill = reads, decode = reads }
        reads { prepare = [ tokenize, block-hash, partner ], filter = [ role, model, excluded, pair ]
          score { plugin = expected-cost, kappa = %d }, pick = max-score, execute = forward }
        """;
    live.replace(profiles(own.formatted(3), "random"));
    Workflow before = workflows.of("mine");
    live.replace(profiles(own.formatted(3), "random"));
    assertThat(workflows.of("mine")).isSameAs(before);
    live.replace(profiles(own.formatted(4), "random"));
    assertThat(workflows.of("mine")).isNotSameAs(before);
  }

  @Test
  void of_noProfile_isTheStandardOneOfNow() {
    assertThat(workflows.of(null)).isSameAs(workflows.of("random"));

    live.replace(profiles("", "preble"));

    assertThat(workflows.of(null)).isSameAs(workflows.of("preble"));
  }

  @Test
  void of_profileThatIsNotKnownHere_isTheStandardOneAndCounted() {
    assertThat(workflows.of("of-another-node")).isSameAs(workflows.of("random"));
    assertThat(
            registry.scrape("kvasir_routing_unknown_profile"::equals).stream()
                .map(CounterSnapshot.class::cast)
                .mapToDouble(counter -> counter.getDataPoints().getFirst().getValue())
                .sum())
        .isEqualTo(1);
  }

  private Profiles profiles(String own, String standard) {
    return new Profiles(
        compiler.compile(ConfigFactory.parseString(own)), ProfileChoice.always(standard, true));
  }
}
