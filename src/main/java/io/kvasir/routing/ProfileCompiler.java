package io.kvasir.routing;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigObject;
import com.typesafe.config.ConfigValue;
import java.util.Collections;
import java.util.Map;
import java.util.SequencedMap;

/**
 * Compiles profiles from the configuration (HOCON) into {@link Profile}s, before a port opens. It checks that every
 * named plugin exists and has valid parameters and weights, that there is exactly one picker and one execution policy,
 * that the required filters are there, and that slots are written once and before they are read.
 *
 * <p>All faults are reported at once. Profiles with any fault are refused as a whole, so that a reload keeps the old
 * ones. Thread-safe.
 *
 * <p>The built-in profiles are the files of {@code conf/profiles}, which the build puts on the class path.
 * A profile of the same name in an operator's configuration is merged into the built-in one key by key, so that one
 * number can be changed in one line.
 */
public final class ProfileCompiler {
  private final PluginRegistry plugins;

  /** A compiler for profiles made of {@code plugins}. */
  public ProfileCompiler(PluginRegistry plugins) {
    this.plugins = plugins;
  }

  /**
   * Compiles the built-in profiles and an operator's own.
   *
   * @param own one object per profile, keyed by the profile's name; may be empty
   * @return the profiles by name, in alphabetical order
   * @throws InvalidProfilesException with every fault
   */
  public SequencedMap<String, Profile> compile(Config own) {
    ConfigObject root = merge(own.resolve().root(), ShippedProfiles.all());
    CompilationFaults faults = new CompilationFaults();
    for (Map.Entry<String, ConfigValue> written : root.entrySet()) {
      String name = written.getKey();
      ProfileReader.checkName(new FaultSite(faults, name, null), written.getValue());
    }
    StageProfiles stageProfiles = new StageProfiles(plugins, faults, root);
    SequencedMap<String, Profile> profiles = stageProfiles.all();
    for (Map.Entry<String, ConfigValue> written : root.entrySet()) {
      if (written.getValue() instanceof ConfigObject profile && WorkflowReader.hasWorkflow(profile)) {
        String name = written.getKey();
        Profile compiled = new WorkflowReader(plugins, stageProfiles, new FaultSite(faults, name, null)).read(profile);
        if (compiled != null) {
          profiles.put(name, compiled);
        }
      }
    }
    if (faults.any()) {
      throw new InvalidProfilesException(faults.sorted());
    }
    return Collections.unmodifiableSequencedMap(profiles);
  }

  /** Merges profiles into others key by key, but never the parameters of one plugin into those of another. */
  private static ConfigObject merge(ConfigObject own, ConfigObject builtIn) {
    ConfigObject merged = own.withFallback(builtIn);
    for (Map.Entry<String, ConfigValue> entry : own.entrySet()) {
      if (entry.getValue() instanceof ConfigObject ownValue
          && builtIn.get(entry.getKey()) instanceof ConfigObject builtInValue) {
        boolean replaced =
            namesAnother(ownValue, builtInValue, ProfileReader.PLUGIN)
                || namesAnother(ownValue, builtInValue, WorkflowReader.NAME);
        merged = merged.withValue(entry.getKey(), replaced ? ownValue : merge(ownValue, builtInValue));
      }
    }
    return merged;
  }

  /** Whether an object names another plugin, or workflow, than the built-in one. */
  private static boolean namesAnother(ConfigObject own, ConfigObject builtIn, String key) {
    ConfigValue ownName = own.get(key);
    ConfigValue builtInName = builtIn.get(key);
    return ownName != null && (builtInName == null || !ownName.unwrapped().equals(builtInName.unwrapped()));
  }
}
