package io.kvasir.routing;

import org.jspecify.annotations.Nullable;

/**
 * One thing wrong with a profile.
 *
 * @param profile the profile's name
 * @param plugin the plugin's name, null when the fault is the profile's own
 * @param where file and line, as the configuration library describes them
 * @param problem what is wrong
 * @param remedy what to do
 */
public record CompilationFault(String profile, @Nullable String plugin, String where, String problem, String remedy) {
  @Override
  public String toString() {
    return "profile \"" + profile + "\"" + (plugin == null ? "" : ", plugin \"" + plugin + "\"") + " (" + where
        + ")\n   " + problem + "\n   -> " + remedy;
  }
}
