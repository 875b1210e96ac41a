package io.kvasir.app.config;

import io.kvasir.gateway.admin.ProfilesAdmin.ProfileFault;
import io.kvasir.routing.CompilationFault;
import org.jspecify.annotations.Nullable;

/**
 * One thing wrong with the configuration.
 *
 * @param place file and line, as far as known
 * @param path the setting's full name
 * @param problem what is wrong and what to do
 * @param profile the same as the compiler of profiles told it, null when another did
 */
public record ConfigFault(String place, String path, String problem, @Nullable CompilationFault profile) {
  ConfigFault(String place, String path, String problem) {
    this(place, path, problem, null);
  }

  /** A fault of a profile. */
  static ConfigFault of(CompilationFault fault) {
    String plugin = fault.plugin() == null ? "" : "plugin '" + fault.plugin() + "': ";
    return new ConfigFault(
        fault.where(),
        "kvasir.routing.profiles." + fault.profile(),
        plugin + fault.problem() + "; " + fault.remedy(),
        fault);
  }

  /** The same for whoever reloads the profiles. */
  public ProfileFault ofProfile() {
    int colon = place.lastIndexOf(':');
    boolean line = colon > 0 && place.substring(colon + 1).strip().matches("\\d{1,9}");
    return new ProfileFault(
        path,
        profile == null ? null : profile.profile(),
        profile == null ? null : profile.plugin(),
        line ? place.substring(0, colon) : place,
        line ? Integer.parseInt(place.substring(colon + 1).strip()) : 0,
        profile == null ? problem : profile.problem(),
        profile == null ? "" : profile.remedy());
  }

  @Override
  public String toString() {
    return (place.isEmpty() ? "" : place + ": ") + path + ": " + problem;
  }
}
