package io.kvasir.app.config;

import io.kvasir.routing.CompilationFault;
import io.kvasir.routing.ConfigPlace;
import org.jspecify.annotations.Nullable;

/**
 * One thing wrong with the configuration.
 *
 * @param place where it is written, as far as known
 * @param path the setting's full name
 * @param problem what is wrong and what to do
 * @param profile the compiler's own report for a fault of a profile, else null
 */
public record ConfigFault(ConfigPlace place, String path, String problem, @Nullable CompilationFault profile) {
  /** A fault of a setting. */
  ConfigFault(ConfigPlace place, String path, String problem) {
    this(place, path, problem, null);
  }

  /** A fault of a profile. */
  static ConfigFault of(CompilationFault fault) {
    String plugin = fault.plugin() == null ? "" : "plugin '" + fault.plugin() + "': ";
    return new ConfigFault(
        fault.place(),
        "kvasir.routing.profiles." + fault.profile(),
        plugin + fault.problem() + "; " + fault.remedy(),
        fault);
  }

  /** The fault in one line, {@code file:line: path: problem}. */
  @Override
  public String toString() {
    return (place.file().isEmpty() ? "" : place + ": ") + path + ": " + problem;
  }
}
