package io.kvasir.routing;

import com.typesafe.config.ConfigObject;
import com.typesafe.config.ConfigValue;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.SequencedMap;
import java.util.SequencedSet;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** The profiles of stages of one compilation. Each is read once, when it is first asked for: profiles name others. */
final class StageProfiles {
  private final PluginRegistry plugins;
  private final CompilationFaults faults;
  private final ConfigObject root;
  private final Map<String, @Nullable Profile> read = new TreeMap<>();
  private final SequencedSet<String> reading = new LinkedHashSet<>();

  /** Those among {@code root}, which are all profiles as written. */
  StageProfiles(PluginRegistry plugins, CompilationFaults faults, ConfigObject root) {
    this.plugins = plugins;
    this.faults = faults;
    this.root = root;
  }

  /** All of them, by name; those with a fault that leaves none are not among them. */
  SequencedMap<String, Profile> all() {
    SequencedMap<String, Profile> all = new TreeMap<>();
    for (Map.Entry<String, ConfigValue> written : root.entrySet()) {
      Profile profile = WorkflowReader.isMeant(written.getValue()) ? null : named(written.getKey(), written.getValue());
      if (profile != null) {
        all.put(written.getKey(), profile);
      }
    }
    return all;
  }

  /**
   * The profile that another gives under a key: by its name, or the profile itself. Null when a fault leaves none.
   *
   * @param site the profile that gives it
   */
  @Nullable Profile given(ConfigValue given, String key, FaultSite site) {
    if (given instanceof ConfigObject inline) {
      return new ProfileReader(plugins, this, new FaultSite(faults, site.profile() + "." + key, null)).read(inline);
    }
    String name = String.valueOf(given.unwrapped());
    ConfigValue written = root.get(name);
    if (written == null) {
      site.fault(given, "there is no profile \"" + name + "\"", Spelling.suggestion(name, "profiles", root.keySet()));
      return null;
    }
    if (WorkflowReader.isMeant(written)) {
      site.fault(given, "profile \"" + name + "\" is made of others itself", "name one that has stages");
      return null;
    }
    if (reading.contains(name)) {
      site.fault(
          given,
          "leaves its decisions in the end to itself, by way of " + String.join(", ", reading),
          "name a profile that decides by what is always known, such as power-of-two");
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
