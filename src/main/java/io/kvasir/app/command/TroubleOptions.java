package io.kvasir.app.command;

import io.kvasir.sim.settings.EngineCondition;
import io.kvasir.sim.settings.InjectedFault;
import io.kvasir.sim.settings.SimSettings;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import picocli.CommandLine.Option;

/** The options of {@code kvasir sim} for what goes wrong on purpose. */
final class TroubleOptions {
  @Option(
      names = "--fault",
      split = ",",
      paramLabel = "KIND=SHARE|KIND=COUNTx",
      description = {
        "What goes wrong on purpose, such as 503=0.05 or hang=2x;",
        "kinds: 500, 503, 429, reset, hang, hang-after-head, hang-midway, cut, no-end, slow, stream-error."
      })
  private List<String> faults = List.of();

  @Option(
      names = "--condition",
      split = ",",
      paramLabel = "CONDITION",
      description = {
        "What is wrong with all of it: refuse, wedge, slow, drain; of its events: lossy (some are lost), stores-only",
        "(removals are never told), silent (none come), garbled (no MessagePack), fast-clock (a minute ahead),",
        "unsalted (no salts), forgetful (nothing they promise is found), "
            + "unasked-usage (streams have it, asked or not).",
        "This and --fault can be changed while it runs:",
        "POST /sim/conditions {\"wedge\":true,\"ms\":5000}, /sim/faults {\"faults\":[\"503=0.1\"]},",
        "/sim/crash {\"ms\":2000}; GET /sim shows them."
      })
  private List<String> conditions = List.of();

  @Option(names = "--health-delay-ms", defaultValue = "0", description = "How long /health takes.")
  private long healthDelayMs;

  /** Adds these to the settings. */
  SimSettings.Builder apply(SimSettings.Builder settings, List<String> wrong) {
    return settings.healthDelay(Duration.ofMillis(healthDelayMs)).faults(faults(wrong)).conditions(conditions(wrong));
  }

  private List<InjectedFault> faults(List<String> wrong) {
    List<InjectedFault> parsed = new ArrayList<>();
    for (String fault : faults) {
      try {
        parsed.add(InjectedFault.parse(fault));
      } catch (IllegalArgumentException malformed) {
        wrong.add("fault: " + malformed.getMessage());
      }
    }
    return parsed;
  }

  private Set<EngineCondition> conditions(List<String> wrong) {
    Set<EngineCondition> chosen = EnumSet.noneOf(EngineCondition.class);
    for (String name : conditions) {
      try {
        chosen.add(EngineCondition.parse(name));
      } catch (IllegalArgumentException unknown) {
        wrong.add("condition: " + unknown.getMessage());
      }
    }
    return chosen;
  }
}
