package io.kvasir.routing;

import com.typesafe.config.ConfigObject;
import com.typesafe.config.ConfigValue;
import com.typesafe.config.ConfigValueType;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Reads a profile with a workflow: {@code workflow { name = NAME, STEP = PROFILE, PARAMETER = VALUE }}, where a profile
 * is referred to by name or inline. Records its faults as {@link ProfileReader} does.
 */
final class WorkflowReader {
  static final String NAME = "name";
  private static final String WORKFLOW = ProfileReader.WORKFLOW;
  private static final List<String> KEYS = List.of(ProfileReader.DESCRIPTION, WORKFLOW);

  private final PluginRegistry plugins;
  private final StageProfiles others;
  private final FaultSite site;

  /** A reader for one profile, whose steps {@code others} decide. */
  WorkflowReader(PluginRegistry plugins, StageProfiles others, FaultSite site) {
    this.plugins = plugins;
    this.others = others;
    this.site = site;
  }

  /** Whether a profile has a workflow instead of stages. */
  static boolean hasWorkflow(ConfigValue profile) {
    return profile instanceof ConfigObject object && object.containsKey(WORKFLOW);
  }

  /** The profile; null when a fault leaves none. */
  @Nullable Profile read(ConfigObject profile) {
    for (Map.Entry<String, ConfigValue> entry : new TreeMap<>(profile).entrySet()) {
      if (!KEYS.contains(entry.getKey())) {
        site.fault(
            entry.getValue(),
            "has \"" + entry.getKey() + "\" beside \"" + WORKFLOW + "\"",
            "put it into the profile of one of the workflow's steps");
      }
    }
    String description = ProfileReader.description(site, profile);
    if (!(profile.get(WORKFLOW) instanceof ConfigObject workflow)) {
      ConfigValue given = profile.getOrDefault(WORKFLOW, profile);
      site.fault(given, "\"" + WORKFLOW + "\" is " + FaultSite.shown(given), "give an object with " + NAME);
      return null;
    }
    WorkflowType type = type(workflow);
    return type == null ? null : compose(type, profile, workflow, description);
  }

  private @Nullable WorkflowType type(ConfigObject workflow) {
    ConfigValue named = workflow.get(NAME);
    if (named == null || named.valueType() != ConfigValueType.STRING) {
      site.fault(
          named == null ? workflow : named,
          "\"" + WORKFLOW + "\" names no workflow",
          "add " + NAME + " = NAME; the workflows are " + String.join(", ", plugins.workflows()));
      return null;
    }
    String name = String.valueOf(named.unwrapped());
    WorkflowType type = plugins.workflow(name);
    if (type == null) {
      site.forPlugin(name)
          .fault(
              named,
              "there is no workflow of this name",
              Spelling.suggestion(name, "workflows", plugins.workflows()));
    }
    return type;
  }

  private @Nullable Profile compose(
      WorkflowType type, ConfigObject profile, ConfigObject workflow, String description) {
    FaultSite workflowSite = site.forPlugin(type.name());
    SequencedMap<String, Profile> parts = new LinkedHashMap<>();
    ConfigObject given = workflow.withoutKey(NAME);
    for (WorkflowType.StepType part : type.parts()) {
      Profile profileOfStep = part(part, workflow, workflowSite);
      if (profileOfStep != null) {
        parts.put(part.step(), profileOfStep);
      }
      given = given.withoutKey(part.step());
    }
    Parameters parameters = new Parameters(given, workflowSite);
    WorkflowType.Composer composer = type.make().apply(parameters);
    parameters.reportUnknown();
    return parts.size() == type.parts().size()
        ? Profile.of(site.profile(), description, profile, new Profile.Composition(composer, parts))
        : null;
  }

  private @Nullable Profile part(WorkflowType.StepType part, ConfigObject workflow, FaultSite workflowSite) {
    ConfigValue given = workflow.get(part.step());
    if (given == null) {
      workflowSite.fault(
          workflow,
          "names no profile for \"" + part.step() + "\"",
          "add " + part.step() + " = PROFILE, or " + part.step() + " { prepare = ..., filter = ... }");
      return null;
    }
    Profile profile = others.resolve(given, part.step(), workflowSite);
    if (profile != null && !part.filter().isEmpty()) {
      profile.reachableProfiles().filter(one -> !one.filterNames().contains(part.filter()))
          .forEach(one -> workflowSite.fault(
          given,
          "its \"" + part.step() + "\" does not filter by " + part.filter() + " (profile \"" + one + "\"), so "
              + part.reason(),
          "add " + part.filter() + " to the \"" + Stage.FILTER.key() + "\" of that profile"));
    }
    return profile;
  }
}
