package io.kvasir.cell;

import static org.assertj.core.api.Assertions.assertThat;

import com.typesafe.config.ConfigFactory;
import io.kvasir.routing.LiveProfiles;
import io.kvasir.routing.ProfileChoice;
import io.kvasir.routing.ProfileCompiler;
import io.kvasir.routing.Profiles;
import io.kvasir.routing.RoutingMetrics;
import io.kvasir.routing.Selector;
import io.kvasir.routing.cost.CostModel;
import io.kvasir.routing.cost.OutputLengths;
import io.kvasir.routing.plugins.BuiltInPlugins;
import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import io.prometheus.metrics.model.snapshots.CounterSnapshot;
import org.junit.jupiter.api.Test;

/** A cell's selectors while profiles come and go. */
final class ProfileSetTest {
  private final CostModel costs = CostModel.bundled();
  private final OutputLengths outputs = new OutputLengths();
  private final ProfileCompiler compiler = new ProfileCompiler(BuiltInPlugins.registry(costs, outputs));
  private final PrometheusRegistry registry = new PrometheusRegistry();
  private final LiveProfiles live = new LiveProfiles(profiles("", "random"));
  private final ProfileSet.Selectors selectors =
      new ProfileSet(live, costs, outputs, new RoutingMetrics(new Metrics(registry))).selectors();

  @Test
  void of_afterAReload_newForWhatChangedAndTheSameForTheRest() {
    Selector turns = selectors.of("round-robin");
    Selector changed = selectors.of("expected-cost");

    live.replace(profiles("expected-cost.score.kappa = 8", "random"));

    assertThat(selectors.of("round-robin")).isSameAs(turns);
    assertThat(selectors.of("expected-cost")).isNotSameAs(changed);
    assertThat(selectors.of("expected-cost")).isSameAs(selectors.of("expected-cost"));
  }

  @Test
  void of_noProfile_isTheStandardOneOfNow() {
    assertThat(selectors.of(null)).isSameAs(selectors.of("random"));

    live.replace(profiles("", "preble"));

    assertThat(selectors.of(null)).isSameAs(selectors.of("preble"));
  }

  @Test
  void of_profileThatIsNotKnownHere_isTheStandardOneAndCounted() {
    assertThat(selectors.of("of-another-node").profile().name()).isEqualTo("random");
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
