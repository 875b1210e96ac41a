package io.kvasir.routing;

import org.jspecify.annotations.Nullable;

/**
 * One fault of a profile, with its place in the configuration and a remedy.
 *
 * @param profile the profile's name
 * @param plugin the plugin's name, null when the fault is the profile's own
 * @param place where it is written
 * @param problem what is wrong
 * @param remedy what to do
 */
public record CompilationFault(
    String profile, @Nullable String plugin, ConfigPlace place, String problem, String remedy) {
  @Override
  public String toString() {
    return "profile \"" + profile + "\"" + (plugin == null ? "" : ", plugin \"" + plugin + "\"") + " (" + place
        + ")\n   " + problem + "\n   -> " + remedy;
  }
}
