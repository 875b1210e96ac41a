package io.kvasir.llmd;

import io.kvasir.llmd.ProfileEntry.Reference;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.SequencedMap;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * An EndpointPickerConfig as llm-d reads it, with the defaults that llm-d adds: one profile of all filters, scorers and
 * pickers where none is written, and a handler for a single profile.
 *
 * @param gates the feature gates that are on
 * @param plugins the plugins by name, in their order
 * @param profiles the scheduling profiles, at least one
 * @param dataLayer the section of that name
 * @param flowControl the section of that name
 */
record EndpointPickerConfig(
    Set<String> gates,
    SequencedMap<String, PluginEntry> plugins,
    List<ProfileEntry> profiles,
    YamlSection dataLayer,
    YamlSection flowControl) {
  private static final Set<String> API_VERSIONS =
      Set.of("llm-d.ai/v1alpha1", "llm-d.ai/v1", "inference.networking.x-k8s.io/v1alpha1");
  private static final String KIND = "EndpointPickerConfig";

  /** Reads a file; what is wrong goes to {@code faults}, and the result is then of no use. */
  static EndpointPickerConfig read(YamlSection file, List<Fault> faults) {
    checkKind(file);
    Set<String> gates = gates(file);
    SequencedMap<String, PluginEntry> plugins = plugins(file, faults);
    List<ProfileEntry> profiles = profiles(file, plugins);
    YamlSection flowControl = file.section("flowControl");
    YamlSection oldDetector = file.section("saturationDetector");
    checkReference(oldDetector, "pluginRef", plugins);
    List<YamlSection> parsers = new ArrayList<>(file.section("requestHandler").sections("parsers"));
    if (file.has("parser")) {
      parsers.add(file.section("parser"));
    }
    parsers.forEach(parser -> checkReference(parser, "pluginRef", plugins));
    // Older files have it by the other name.
    YamlSection dataLayer = file.section(file.has("data") && !file.has("dataLayer") ? "data" : "dataLayer");
    YamlSection discovery = dataLayer.section("discovery");
    checkReference(discovery, "pluginRef", plugins);
    checkReference(discovery.section("endpoints"), "pluginRef", plugins);
    for (YamlSection source : dataLayer.sections("sources")) {
      checkReference(source, "pluginRef", plugins);
      source.sections("extractors").forEach(extractor -> checkReference(extractor, "pluginRef", plugins));
    }
    file.text("apiVersion", "");
    file.has("metadata");
    file.rejectUnread();
    checkHandlers(file, plugins.values(), profiles);
    return new EndpointPickerConfig(gates, plugins, profiles, dataLayer, flowControl);
  }

  private static void checkKind(YamlSection file) {
    String kind = file.text("kind", "");
    if (kind.equals("ConfigMap") || kind.equals("Deployment")) {
      file.fault("kind", "is " + kind + "; write what it holds of an " + KIND + " into a file of its own");
    } else if (!kind.equals(KIND)) {
      file.fault("kind", "has to be " + KIND);
    }
    String version = file.text("apiVersion", "");
    if (!API_VERSIONS.contains(version)) {
      file.fault("apiVersion", "has to be one of " + String.join(", ", API_VERSIONS.stream().sorted().toList()));
    }
  }

  private static Set<String> gates(YamlSection file) {
    return file.texts("featureGates").stream()
        .filter(gate -> !gate.toLowerCase(Locale.ROOT).strip().endsWith("=false"))
        .map(gate -> gate.replaceFirst("=.*", "").strip())
        .collect(Collectors.toUnmodifiableSet());
  }

  private static SequencedMap<String, PluginEntry> plugins(YamlSection file, List<Fault> faults) {
    SequencedMap<String, PluginEntry> plugins = new LinkedHashMap<>();
    for (YamlSection entry : file.sections("plugins")) {
      String written = entry.text("type", "");
      String name = entry.text("name", written);
      YamlSection parameters = entry.section("parameters");
      entry.rejectUnread();
      LlmdPlugin type = LlmdPlugin.of(written);
      if (written.isEmpty()) {
        entry.fault("type", "is missing");
      } else if (type == null) {
        entry.fault(
            "type",
            "'" + written + "' is no plugin that Kvasir knows of llm-d, so nobody can say what would be lost without"
                + " it; take it out of the file if it may be lost, or write it as a plugin of Kvasir (conf/README.md)");
      } else if (plugins.put(name, new PluginEntry(name, type, parameters, entry.line())) != null) {
        faults.add(new Fault(entry.line(), entry.full("name"), "'" + name + "' is the name of two plugins"));
      }
    }
    if (!file.has("plugins")) {
      file.fault("plugins", "is missing");
    }
    return plugins;
  }

  private static List<ProfileEntry> profiles(YamlSection file, SequencedMap<String, PluginEntry> plugins) {
    List<ProfileEntry> profiles = new ArrayList<>();
    for (YamlSection entry : file.sections("schedulingProfiles")) {
      String name = entry.text("name", "");
      if (name.isEmpty()) {
        entry.fault("name", "is missing");
      } else if (profiles.stream().anyMatch(profile -> profile.name().equals(name))) {
        entry.fault("name", "'" + name + "' is the name of two profiles");
      }
      profiles.add(new ProfileEntry(name, references(entry, plugins), entry.line()));
      entry.rejectUnread();
    }
    if (profiles.isEmpty()) {
      List<Reference> all =
          plugins.values().stream()
              .filter(plugin -> switch (plugin.type().kind()) {
                case FILTER, SCORER, PICKER -> true;
                default -> false;
              })
              .map(plugin -> new Reference(plugin, null, plugin.line()))
              .toList();
      profiles.add(new ProfileEntry("default", all, file.line()));
    }
    return profiles;
  }

  private static List<Reference> references(YamlSection profile, SequencedMap<String, PluginEntry> plugins) {
    List<Reference> references = new ArrayList<>();
    boolean picker = false;
    for (YamlSection entry : profile.sections("plugins")) {
      Double weight = entry.has("weight") ? entry.number("weight", 1, 0, 1e9) : null;
      PluginEntry plugin = checkReference(entry, "pluginRef", plugins);
      LlmdPlugin implied = LlmdPlugin.of(entry.text("pluginRef", ""));
      if (plugin == null && implied != null) {
        plugin = new PluginEntry(implied.wireName(), implied, entry.section("parameters"), entry.line());
      }
      entry.rejectUnread();
      if (plugin == null) {
        continue;
      }
      if (plugin.type().kind() == LlmdPlugin.Kind.PICKER) {
        if (picker) {
          entry.fault("pluginRef", "is a second picker; a profile has one");
        }
        picker = true;
      }
      references.add(new Reference(plugin, weight, entry.line()));
    }
    return references;
  }

  /** The plugin that is referred to; null where there is no reference, or, with a fault, no such plugin. */
  static @Nullable PluginEntry checkReference(
      YamlSection section, String key, SequencedMap<String, PluginEntry> plugins) {
    String name = section.text(key, "");
    PluginEntry plugin = plugins.get(name);
    // Defaults of llm-d are there without being written.
    if (plugin == null && !name.isEmpty() && LlmdPlugin.of(name) == null) {
      section.fault(key, "there is no plugin '" + name + "' under plugins");
    }
    return plugin;
  }

  private static void checkHandlers(YamlSection file, Iterable<PluginEntry> plugins, List<ProfileEntry> profiles) {
    List<PluginEntry> handlers = new ArrayList<>();
    for (PluginEntry plugin : plugins) {
      if (plugin.type().kind() == LlmdPlugin.Kind.HANDLER) {
        handlers.add(plugin);
      }
    }
    String names = handlers.stream().map(PluginEntry::name).collect(Collectors.joining(", "));
    if (handlers.size() > 1) {
      file.fault("plugins", "has several profile handlers (" + names + "); keep one");
    } else if (profiles.size() > 1
        && (handlers.isEmpty() || handlers.getFirst().type() == LlmdPlugin.SINGLE_PROFILE_HANDLER)) {
      file.fault(
          "schedulingProfiles",
          "has " + profiles.size() + " profiles, and no plugin says which one decides; add disagg-profile-handler or"
              + " header-profile-handler, or keep one profile");
    }
  }

  /** The profile handler, null for the one of a single profile. */
  @Nullable PluginEntry handler() {
    return plugins.values().stream()
        .filter(plugin -> plugin.type().kind() == LlmdPlugin.Kind.HANDLER)
        .findFirst()
        .orElse(null);
  }
}
