package io.kvasir.routing;

import com.typesafe.config.ConfigRenderOptions;
import com.typesafe.config.ConfigValue;
import org.jspecify.annotations.Nullable;

/** Where in the profiles the compiler is: what a fault found there is attributed to. */
record FaultSite(CompilationFaults faults, String profile, @Nullable String plugin) {
  FaultSite forPlugin(String pluginName) {
    return new FaultSite(faults, profile, pluginName);
  }

  void fault(ConfigValue at, String problem, String remedy) {
    faults.add(profile, plugin, at.origin(), problem, remedy);
  }

  /** A value as its author wrote it, cut short. */
  static String shown(ConfigValue value) {
    String text = value.render(ConfigRenderOptions.concise());
    return text.length() <= 60 ? text : text.substring(0, 57) + "...";
  }
}
