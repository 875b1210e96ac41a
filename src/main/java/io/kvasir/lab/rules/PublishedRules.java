package io.kvasir.lab.rules;

import static io.kvasir.routing.PluginType.picker;
import static io.kvasir.routing.PluginType.scorer;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import com.typesafe.config.ConfigParseOptions;
import io.kvasir.routing.PluginRegistry;
import io.kvasir.routing.Profile;
import io.kvasir.routing.ProfileCompiler;
import io.kvasir.routing.cost.CostModel;
import io.kvasir.routing.cost.OutputLengths;
import io.kvasir.routing.plugins.BuiltInPlugins;
import java.util.Map;

/** The published rules of one run: the plugins that profiles may name, and what the learning ones learn from. */
public final class PublishedRules {
  private static final Config PROFILES =
      ConfigFactory.parseResources(
          PublishedRules.class.getClassLoader(),
          "io/kvasir/lab/rules/published.conf",
          ConfigParseOptions.defaults().setAllowMissing(false));

  private final double ttftMs;
  private final TtftLearner learner = new TtftLearner();

  /** The rules, without anything learnt, for requests whose first token is to come within {@code ttftMs}. */
  public PublishedRules(double ttftMs) {
    this.ttftMs = ttftMs;
  }

  /**
   * Compiles the built-in profiles, the published ones and others, which may name the published rules' plugins.
   *
   * @param own laid over the others, key by key
   * @return the profiles by name
   * @throws io.kvasir.routing.InvalidProfilesException with every fault
   */
  public Map<String, Profile> compile(Config own, CostModel costs, OutputLengths outputs) {
    PluginRegistry plugins =
        BuiltInPlugins.registry(
            costs,
            outputs,
            picker("dual-map", parameters -> new DualMapPicker(parameters, costs, ttftMs)),
            scorer("lodestar", parameters -> new LodestarScorer(parameters, learner)));
    return new ProfileCompiler(plugins).compile(own.withFallback(PROFILES));
  }

  /** Notes that a request was sent to the worker that was chosen last. */
  public void sent(int request) {
    learner.sent(request);
  }

  /** Notes the first token of a request, so many milliseconds after it was sent. */
  public void firstToken(int request, double requestTtftMs) {
    learner.firstToken(request, requestTtftMs);
  }
}
