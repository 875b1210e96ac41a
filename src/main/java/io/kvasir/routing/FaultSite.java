package io.kvasir.routing;

import com.typesafe.config.ConfigRenderOptions;
import com.typesafe.config.ConfigValue;
import org.jspecify.annotations.Nullable;

/** The profile and plugin that faults found by the compiler are attributed to. */
record FaultSite(CompilationFaults faults, String profile, @Nullable String plugin) {
  FaultSite forPlugin(String pluginName) {
    return new FaultSite(faults, profile, pluginName);
  }

  void fault(ConfigValue at, String problem, String remedy) {
    faults.add(profile, plugin, at.origin(), problem, remedy);
  }

  /** A configuration value for messages, at most 60 characters. */
  static String shown(ConfigValue value) {
    String text = value.render(ConfigRenderOptions.concise());
    return text.length() <= 60 ? text : text.substring(0, 57) + "...";
  }
}
