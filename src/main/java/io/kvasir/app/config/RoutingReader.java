package io.kvasir.app.config;

import com.typesafe.config.Config;
import io.kvasir.app.config.KvasirConfig.RoutingConfig;
import io.kvasir.lmcache.LmCache;
import io.kvasir.routing.CacheLayer;
import io.kvasir.routing.ExternalMetrics;
import io.kvasir.routing.InvalidProfilesException;
import io.kvasir.routing.PluginRegistry;
import io.kvasir.routing.Profile;
import io.kvasir.routing.ProfileChoice;
import io.kvasir.routing.ProfileCompiler;
import io.kvasir.routing.Profiles;
import io.kvasir.routing.cost.CostModel;
import io.kvasir.routing.cost.OutputLengths;
import io.kvasir.routing.plugins.BuiltInPlugins;
import io.kvasir.semantic.SemanticClusters;
import io.kvasir.semantic.SemanticSettings;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import org.jspecify.annotations.Nullable;

/** Reads {@code kvasir.routing}: at start, and again at every reload of the profiles. */
public final class RoutingReader {
  private final Config config;
  private final List<ConfigFault> faults;

  /** Reads from a whole resolved configuration. */
  public RoutingReader(Config config, List<ConfigFault> faults) {
    this.config = config;
    this.faults = faults;
  }

  /**
   * What a node starts with.
   *
   * @param lmcache what LMCache says, null where there is none
   */
  RoutingConfig read(@Nullable LmCache lmcache) {
    CostModel costs = CostModel.bundled();
    OutputLengths outputs = new OutputLengths();
    PluginJars jars = new PluginJars(pluginPath(), faults);
    ExternalMetrics figures = new ExternalMetrics();
    SemanticClusters clusters = new SemanticClusters(semanticClusters());
    PluginRegistry plugins =
        BuiltInPlugins.registry(costs, outputs, figures, clusters, lmcache == null ? CacheLayer.NONE : lmcache);
    for (PluginJars.LoadedPlugin brought : jars.plugins()) {
      try {
        plugins = plugins.plus(brought.type());
      } catch (IllegalArgumentException taken) {
        faults.add(
            new ConfigFault(
                brought.jar().toString(), "kvasir.routing.plugin-path", taken.getMessage() + "; rename this jar's"));
      }
    }
    Duration reloadInterval = section().durationOrNever("reload-interval");
    return new RoutingConfig(
        profiles(plugins), plugins, jars, reloadInterval, costs, outputs, figures, clusters, lmcache);
  }

  private List<Path> pluginPath() {
    return section().textsOrPath("plugin-path").stream().map(Path::of).toList();
  }

  /** The semantic clusters as they are written. */
  public SemanticSettings semanticClusters() {
    return SemanticReader.read(section().section("semantic-clusters"));
  }

  private ConfigSection section() {
    return new ConfigSection(config.getConfig("kvasir.routing"), "kvasir.routing", faults);
  }

  /** The profiles and who goes by which; null when a fault leaves none. */
  @Nullable public Profiles profiles(PluginRegistry plugins) {
    ConfigSection routing = section();
    SequencedMap<String, Profile> profiles = compiled(routing, plugins);
    String standard = routing.name("profile");
    if (profiles != null) {
      known(routing, "profile", standard, profiles);
      SemanticReader.checkUse(routing.section("semantic-clusters"), profiles.values());
    }
    ProfileChoice choice =
        new ProfileChoice(
            standard,
            chosen(routing.section("models"), profiles),
            chosen(routing.section("tenants"), profiles),
            routing.texts("tenant-headers"),
            routing.flag("allow-profile-header"));
    routing.has("plugin-path");
    routing.has("semantic-clusters");
    routing.has("reload-interval");
    routing.rejectUnread();
    return profiles != null && profiles.containsKey(standard) ? new Profiles(profiles, choice) : null;
  }

  private @Nullable SequencedMap<String, Profile> compiled(ConfigSection routing, PluginRegistry plugins) {
    routing.has("profiles");
    try {
      return new ProfileCompiler(plugins).compile(config.getConfig("kvasir.routing.profiles"));
    } catch (InvalidProfilesException invalid) {
      for (io.kvasir.routing.CompilationFault fault : invalid.faults()) {
        faults.add(ConfigFault.of(fault));
      }
    } catch (com.typesafe.config.ConfigException wrong) {
      routing.fault("profiles", "has to be a section of profiles: " + wrong.getMessage());
    }
    return null;
  }

  /** Names of profiles by whatever chooses them. */
  private Map<String, String> chosen(ConfigSection section, @Nullable SequencedMap<String, Profile> profiles) {
    Map<String, String> chosen = new LinkedHashMap<>();
    for (String key : section.keys()) {
      String profile = section.name(key);
      if (profiles != null) {
        known(section, key, profile, profiles);
      }
      chosen.put(key, profile);
    }
    return chosen;
  }

  private void known(ConfigSection section, String key, String profile, Map<String, Profile> profiles) {
    if (!profile.isEmpty() && !profiles.containsKey(profile)) {
      section.fault(
          key,
          "there is no profile '" + profile + "'; choose one of " + String.join(", ", profiles.keySet()));
    }
    Profile found = profiles.get(profile);
    if (found != null && BuiltInPlugins.useCacheLayer(found) && !hasController()) {
      section.fault(
          key,
          "profile '" + profile + "' goes by LMCache, and kvasir.lmcache.controller names no controller; name it, or"
              + " choose another profile");
    }
  }

  private boolean hasController() {
    String controller = "kvasir.lmcache.controller";
    return config.hasPath(controller) && !config.getString(controller).isBlank();
  }
}
