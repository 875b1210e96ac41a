package io.kvasir.routing;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import com.typesafe.config.ConfigObject;
import com.typesafe.config.ConfigParseOptions;
import com.typesafe.config.ConfigValue;
import java.util.Collections;
import java.util.Map;
import java.util.SequencedMap;

/**
 * Turns profiles as written (HOCON) into {@link Profile}s, before a port opens. It proves that every plugin
 * named exists and has valid parameters and weights, that there is exactly one picker and one executor, that
 * the filters correctness depends on are there, and that slots are written once and before they are read.
 *
 * <p>All faults are found in one go; a set of profiles with a fault gives no profiles, so that a reload can
 * keep the old ones. Thread-safe.
 *
 * <p>The built-in profiles are the files of {@code conf/profiles}, which the build puts on the class path.
 * A profile of the same name in an operator's configuration is laid over the built-in one key by key, so that one
 * number can be changed in one line.
 */
public final class ProfileCompiler {
  private static final String BUILT_IN = "profiles/built-in.conf";

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
    Config builtIn =
        ConfigFactory.parseResources(
            ProfileCompiler.class.getClassLoader(), BUILT_IN, ConfigParseOptions.defaults().setAllowMissing(false));
    ConfigObject root = overlay(own.resolve().root(), builtIn.root());
    CompilationFaults faults = new CompilationFaults();
    for (Map.Entry<String, ConfigValue> written : root.entrySet()) {
      String name = written.getKey();
      ProfileReader.checkName(new FaultSite(faults, name, null), written.getValue());
    }
    StageProfiles ofStages = new StageProfiles(plugins, faults, root);
    SequencedMap<String, Profile> profiles = ofStages.all();
    for (Map.Entry<String, ConfigValue> written : root.entrySet()) {
      if (written.getValue() instanceof ConfigObject profile && WorkflowReader.isMeant(profile)) {
        String name = written.getKey();
        Profile made = new WorkflowReader(plugins, ofStages, new FaultSite(faults, name, null)).read(profile);
        if (made != null) {
          profiles.put(name, made);
        }
      }
    }
    if (faults.any()) {
      throw new InvalidProfilesException(faults.sorted());
    }
    return Collections.unmodifiableSequencedMap(profiles);
  }

  /** Lays profiles over others key by key, but never the parameters of one plugin over those of another. */
  private static ConfigObject overlay(ConfigObject own, ConfigObject below) {
    ConfigObject laid = own.withFallback(below);
    for (Map.Entry<String, ConfigValue> written : own.entrySet()) {
      if (written.getValue() instanceof ConfigObject above
          && below.get(written.getKey()) instanceof ConfigObject under) {
        boolean another = isAnother(above, under, ProfileReader.PLUGIN) || isAnother(above, under, WorkflowReader.NAME);
        laid = laid.withValue(written.getKey(), another ? above : overlay(above, under));
      }
    }
    return laid;
  }

  /** Whether it names another plugin, or workflow, than what it is laid over. */
  private static boolean isAnother(ConfigObject above, ConfigObject under, String key) {
    ConfigValue named = above.get(key);
    ConfigValue was = under.get(key);
    return named != null && (was == null || !named.unwrapped().equals(was.unwrapped()));
  }
}
