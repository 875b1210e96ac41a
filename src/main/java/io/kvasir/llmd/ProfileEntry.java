package io.kvasir.llmd;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A scheduling profile of an EndpointPickerConfig.
 *
 * @param name its name
 * @param plugins the plugins in their order
 * @param line where it begins
 */
record ProfileEntry(String name, List<Reference> plugins, int line) {
  /** Copies the list. */
  ProfileEntry {
    plugins = List.copyOf(plugins);
  }

  /**
   * A plugin of a profile.
   *
   * @param plugin the plugin
   * @param weight its weight, null where none is given
   * @param line where it is named
   */
  record Reference(PluginEntry plugin, @Nullable Double weight, int line) {
    double weightOrDefault() {
      return weight == null ? 1 : weight;
    }
  }
}
