package io.kvasir.app.config;

import com.typesafe.config.Config;
import io.kvasir.lmcache.LmCacheSettings;
import io.kvasir.routing.InvalidProfilesException;
import io.kvasir.routing.PluginRegistry;
import io.kvasir.routing.Profile;
import io.kvasir.routing.ProfileChoice;
import io.kvasir.routing.ProfileCompiler;
import io.kvasir.routing.Profiles;
import io.kvasir.routing.cost.CostModel;
import io.kvasir.routing.cost.OutputLengths;
import io.kvasir.routing.plugins.BuiltInPlugins;
import io.kvasir.semantic.SemanticSettings;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Reads {@code kvasir.routing} and proves its profiles: at start, and again at every reload. */
public final class RoutingReader {
  private final Config config;
  private final List<ConfigFault> faults;

  /**
   * The part of routing that can be reloaded while a node runs.
   *
   * @param profiles the compiled profiles, and which requests use which
   * @param semanticClusters the semantic clusters
   */
  public record ReloadableRouting(Profiles profiles, SemanticSettings semanticClusters) {}

  /** Reads from a whole resolved configuration. */
  RoutingReader(Config config, List<ConfigFault> faults) {
    this.config = config;
    this.faults = faults;
  }

  /**
   * Reads what can be reloaded, and compiles the profiles.
   *
   * @param config a whole resolved configuration
   * @param plugins the plugins that profiles are made of
   * @throws ConfigException with every fault
   */
  public static ReloadableRouting reloadable(Config config, PluginRegistry plugins) throws ConfigException {
    List<ConfigFault> faults = new ArrayList<>();
    RoutingReader reader = new RoutingReader(config, faults);
    Profiles profiles = reader.profiles(plugins);
    SemanticSettings clusters = reader.semanticClusters();
    if (profiles == null || !faults.isEmpty()) {
      throw new ConfigException(faults.stream().distinct().toList());
    }
    return new ReloadableRouting(profiles, clusters);
  }

  /**
   * The settings a node starts with. The profiles are proven against the plugins, whose jars are closed again.
   *
   * @param lmcache the settings of LMCache, null without a controller and a coordinator
   */
  RoutingSettings read(@Nullable LmCacheSettings lmcache) {
    List<Path> pluginPath = section().textsOrPath("plugin-path").stream().map(Path::of).toList();
    SemanticSettings clusters = semanticClusters();
    Duration reloadInterval = section().durationOrNever("reload-interval");
    try (PluginJars jars = new PluginJars(pluginPath)) {
      PluginRegistry plugins = jars.addTo(BuiltInPlugins.registry(CostModel.bundled(), new OutputLengths()));
      faults.addAll(jars.faults());
      profiles(plugins);
    }
    return new RoutingSettings(section().name("profile"), pluginPath, clusters, lmcache, reloadInterval);
  }

  private SemanticSettings semanticClusters() {
    return SemanticReader.read(section().section("semantic-clusters"));
  }

  private ConfigSection section() {
    return new ConfigSection(config.getConfig("kvasir.routing"), "kvasir.routing", faults);
  }

  /** The profiles and their choice; null when a fault leaves none. */
  private @Nullable Profiles profiles(PluginRegistry plugins) {
    ConfigSection routing = section();
    SequencedMap<String, Profile> profiles = compiled(routing, plugins);
    String standard = routing.name("profile");
    if (profiles != null) {
      checkExists(routing, "profile", standard, profiles);
      SemanticReader.checkUse(routing.section("semantic-clusters"), profiles.values());
    }
    ProfileChoice choice =
        new ProfileChoice(
            standard,
            choices(routing.section("models"), profiles),
            choices(routing.section("tenants"), profiles),
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
      invalid.faults().stream().map(ConfigFault::of).forEach(faults::add);
    } catch (com.typesafe.config.ConfigException wrong) {
      routing.fault("profiles", "has to be a section of profiles: " + wrong.getMessage());
    }
    return null;
  }

  /** Names of profiles by model or tenant. */
  private Map<String, String> choices(ConfigSection section, @Nullable SequencedMap<String, Profile> profiles) {
    Map<String, String> choices = new LinkedHashMap<>();
    for (String key : section.keys()) {
      String profile = section.name(key);
      if (profiles != null) {
        checkExists(section, key, profile, profiles);
      }
      choices.put(key, profile);
    }
    return choices;
  }

  private void checkExists(ConfigSection section, String key, String profile, Map<String, Profile> profiles) {
    if (!profile.isEmpty() && !profiles.containsKey(profile)) {
      section.fault(
          key,
          "there is no profile '" + profile + "'; choose one of " + String.join(", ", profiles.keySet()));
    }
    Profile found = profiles.get(profile);
    if (found != null && BuiltInPlugins.useCacheLayer(found) && !hasLmCache()) {
      section.fault(
          key,
          "profile '" + profile + "' goes by LMCache, and kvasir.lmcache.controller names no controller, nor"
              + " coordinator a coordinator; name one, or choose another profile");
    }
  }

  private boolean hasLmCache() {
    return Stream.of("controller", "coordinator")
        .map("kvasir.lmcache."::concat)
        .anyMatch(service -> config.hasPath(service) && !config.getString(service).isBlank());
  }
}
