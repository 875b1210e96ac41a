package io.kvasir.llmd;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.SequencedMap;

/**
 * A plugin of Kvasir in a translated profile.
 *
 * @param plugin its name
 * @param parameters its parameters by name, texts, numbers and lists of texts; those of a scorer with its weight
 * @param origin the part of the file that it stands for, empty where every profile has it
 */
public record PluginUse(String plugin, SequencedMap<String, Object> parameters, String origin) {
  /** Copies the map. */
  public PluginUse {
    parameters = Collections.unmodifiableSequencedMap(new LinkedHashMap<>(parameters));
  }

  /** A plugin without parameters that every profile has. */
  static PluginUse of(String plugin) {
    return new PluginUse(plugin, new LinkedHashMap<>(), "");
  }

  /** A plugin with its parameters, as alternating names and values. */
  static PluginUse of(String plugin, String origin, Object... parameters) {
    SequencedMap<String, Object> map = new LinkedHashMap<>();
    for (int i = 0; i < parameters.length; i += 2) {
      map.put((String) parameters[i], parameters[i + 1]);
    }
    return new PluginUse(plugin, map, origin);
  }
}
