package io.kvasir.cell;

import io.kvasir.routing.Profile;
import io.kvasir.routing.RoutingMetrics;
import io.kvasir.routing.Selector;
import io.kvasir.routing.cost.CostModel;
import io.kvasir.routing.cost.OutputLengths;
import java.util.HashMap;
import java.util.Map;
import java.util.SequencedMap;
import java.util.SplittableRandom;

/**
 * The profiles cells decide by.
 *
 * @param profiles by name
 * @param standard name of the profile of requests that choose none; one of {@code profiles}
 * @param costs what prompts cost engines
 * @param outputs how long answers are; fed by outcomes
 * @param metrics where selectors count
 */
public record ProfileSet(
    SequencedMap<String, Profile> profiles,
    String standard,
    CostModel costs,
    OutputLengths outputs,
    RoutingMetrics metrics) {

  /** Learns from a request to a model that is over. */
  void ended(String model, Outcome outcome) {
    if (outcome instanceof Outcome.Completed completed && completed.outputTokens() > 0) {
      outputs.answered(model, completed.outputTokens());
    }
  }

  /** A selector for each profile, for one cell: what a plugin remembers belongs to the cell. */
  Map<String, Selector> selectors() {
    Map<String, Selector> selectors = new HashMap<>();
    profiles.forEach(
        (name, profile) ->
            selectors.put(
                name, new Selector(profile, costs, new SplittableRandom(), metrics, System::nanoTime)));
    return selectors;
  }
}
