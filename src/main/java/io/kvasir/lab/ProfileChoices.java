package io.kvasir.lab;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigException;
import com.typesafe.config.ConfigFactory;
import io.kvasir.lab.rules.PublishedRules;
import io.kvasir.routing.InvalidProfilesException;
import io.kvasir.routing.Profile;
import io.kvasir.routing.ProfileCompiler;
import io.kvasir.routing.cost.CostModel;
import io.kvasir.routing.cost.OutputLengths;
import io.kvasir.routing.plugins.BuiltInPlugins;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * The reader of a choice of profiles: built-in ones by name, {@code all} that plan one step, or those of a file.
 * Profiles that plan several steps need a fleet with prefill and decode workers. For a run the published rules are
 * among the built-in ones; for a replay they are not, since no first token follows from what it decides.
 */
final class ProfileChoices {
  private static final String ALL = "all";

  private final List<String> faults;

  private final boolean divided;

  private final boolean published;

  private ProfileChoices(boolean divided, boolean published, List<String> faults) {
    this.divided = divided;
    this.published = published;
    this.faults = faults;
  }

  /**
   * The profiles of runs; invalid when {@code faults} were added, of one plain sentence each.
   *
   * @param divided whether the fleet has prefill and decode workers
   */
  static List<LabPlan.ProfileChoice> forRuns(List<String> written, boolean divided, List<String> faults) {
    return new ProfileChoices(divided, true, faults).profiles(written);
  }

  /** The profiles of a replay; invalid when {@code faults} were added, of one plain sentence each. */
  static List<LabPlan.ProfileChoice> forReplay(List<String> written, List<String> faults) {
    return new ProfileChoices(false, false, faults).profiles(written);
  }

  private List<LabPlan.ProfileChoice> profiles(List<String> written) {
    Map<String, Profile> compiled = compiled("the built-in profiles", ConfigFactory.empty());
    Set<String> builtIn = new TreeSet<>(compiled.keySet());
    builtIn.removeIf(name -> hasSteps(compiled, name));
    List<LabPlan.ProfileChoice> choices = new ArrayList<>();
    for (String name : written) {
      if (name.equals(ALL)) {
        builtIn.forEach(each -> choose(each, ConfigFactory.empty(), choices));
      } else if (name.endsWith(".conf") || name.contains("/")) {
        readFile(Path.of(name), choices);
      } else if (builtIn.contains(name) || (divided && hasSteps(compiled, name))) {
        choose(name, ConfigFactory.empty(), choices);
      } else if (hasSteps(compiled, name)) {
        rejectSteps(name);
      } else {
        faults.add(
            "profiles: there is no built-in profile '" + name + "'; there are " + String.join(", ", builtIn)
                + ", " + ALL + ", or give a .conf file with profiles");
      }
    }
    return choices;
  }

  private void readFile(Path file, List<LabPlan.ProfileChoice> choices) {
    if (!Files.isRegularFile(file) || !Files.isReadable(file)) {
      faults.add("profiles: " + file + " cannot be read; is it a file, and may you read it?");
      return;
    }
    try {
      Config own = ConfigFactory.parseFile(file.toFile()).resolve();
      if (own.isEmpty()) {
        faults.add("profiles: " + file + " names no profile; write NAME { ... } in it");
        return;
      }
      Map<String, Profile> compiled = compiled("profiles of " + file, own);
      for (String name : new TreeSet<>(own.root().keySet())) {
        if (!divided && hasSteps(compiled, name)) {
          rejectSteps(name);
        } else {
          choose(name, own, choices);
        }
      }
    } catch (ConfigException malformed) {
      faults.add("profiles: " + file + ": " + malformed.getMessage());
    }
  }

  private static boolean hasSteps(Map<String, Profile> compiled, String name) {
    Profile profile = compiled.get(name);
    return profile != null && !profile.steps().isEmpty();
  }

  private void rejectSteps(String name) {
    faults.add(
        "profiles: " + name + " plans several steps, and here every worker does everything: give one that plans one");
  }

  private void choose(String name, Config config, List<LabPlan.ProfileChoice> choices) {
    if (choices.stream().anyMatch(choice -> choice.name().equals(name))) {
      faults.add("profiles: two are named " + name + ", and reports tell them apart by name: rename one");
      return;
    }
    choices.add(new LabPlan.ProfileChoice(name, config));
  }

  private Map<String, Profile> compiled(String what, Config own) {
    try {
      CostModel costs = CostModel.bundled();
      OutputLengths outputs = new OutputLengths();
      return published
          ? new PublishedRules(0).compile(own, costs, outputs)
          : new ProfileCompiler(BuiltInPlugins.registry(costs, outputs)).compile(own);
    } catch (InvalidProfilesException faulty) {
      faults.add("profiles: " + what + ": " + faulty.getMessage());
      return Map.of();
    }
  }
}
