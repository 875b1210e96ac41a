package io.kvasir.cell;

import com.typesafe.config.ConfigFactory;
import io.kvasir.routing.LiveProfiles;
import io.kvasir.routing.ProfileChoice;
import io.kvasir.routing.ProfileCompiler;
import io.kvasir.routing.Profiles;
import io.kvasir.routing.RoutingMetrics;
import io.kvasir.routing.cost.CostModel;
import io.kvasir.routing.cost.OutputLengths;
import io.kvasir.routing.plugins.BuiltInPlugins;
import io.kvasir.telemetry.Metrics;

/** The built-in profiles, for cells in tests. */
public final class TestProfiles {
  private TestProfiles() {}

  public static ProfileSet builtIn(String standard, Metrics metrics) {
    CostModel costs = CostModel.bundled();
    OutputLengths outputs = new OutputLengths();
    return new ProfileSet(
        new LiveProfiles(
            new Profiles(
                new ProfileCompiler(BuiltInPlugins.registry(costs, outputs)).compile(ConfigFactory.empty()),
                ProfileChoice.always(standard, true))),
        costs,
        outputs,
        new RoutingMetrics(metrics));
  }
}
