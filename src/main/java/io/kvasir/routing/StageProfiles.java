package io.kvasir.routing;

import com.typesafe.config.ConfigObject;
import com.typesafe.config.ConfigValue;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.SequencedMap;
import java.util.SequencedSet;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** The profiles of stages of one compilation. Each is read once, at the first reference to it by another profile. */
final class StageProfiles {
  private final PluginRegistry plugins;
  private final CompilationFaults faults;
  private final ConfigObject root;
  private final Map<String, @Nullable Profile> read = new TreeMap<>();
  private final SequencedSet<String> reading = new LinkedHashSet<>();

  /** The profiles of stages in {@code root}, the configuration of all profiles. */
  StageProfiles(PluginRegistry plugins, CompilationFaults faults, ConfigObject root) {
    this.plugins = plugins;
    this.faults = faults;
    this.root = root;
  }

  /** All profiles of stages by name, without those that have a fault. */
  SequencedMap<String, Profile> all() {
    SequencedMap<String, Profile> all = new TreeMap<>();
    for (Map.Entry<String, ConfigValue> written : root.entrySet()) {
      Profile profile =
          WorkflowReader.hasWorkflow(written.getValue()) ? null : named(written.getKey(), written.getValue());
      if (profile != null) {
        all.put(written.getKey(), profile);
      }
    }
    return all;
  }

  /**
   * The profile that another refers to under a key, by name or inline; null when it has a fault.
   *
   * @param reference a profile's name, or the profile itself
   * @param site the profile that refers to it
   */
  @Nullable Profile resolve(ConfigValue reference, String key, FaultSite site) {
    if (reference instanceof ConfigObject inline) {
      return new ProfileReader(plugins, this, new FaultSite(faults, site.profile() + "." + key, null)).read(inline);
    }
    String name = String.valueOf(reference.unwrapped());
    ConfigValue written = root.get(name);
    if (written == null) {
      site.fault(reference, "there is no profile \"" + name + "\"",
          Spelling.suggestion(name, "profiles", root.keySet()));
      return null;
    }
    if (WorkflowReader.hasWorkflow(written)) {
      site.fault(reference, "profile \"" + name + "\" has a workflow itself", "name one that has stages");
      return null;
    }
    if (reading.contains(name)) {
      site.fault(
          reference,
          "delegates its decisions in the end to itself, by way of " + String.join(", ", reading),
          "name a profile whose scorers always have their inputs, such as power-of-two");
      return null;
    }
    return named(name, written);
  }

  private @Nullable Profile named(String name, ConfigValue written) {
    if (!read.containsKey(name)) {
      reading.add(name);
      read.put(name, new ProfileReader(plugins, this, new FaultSite(faults, name, null)).read(written));
      reading.remove(name);
    }
    return read.get(name);
  }
}
