package io.kvasir.routing;

import com.typesafe.config.ConfigOrigin;

/**
 * The place of a setting in a configuration.
 *
 * @param file the file's name, empty when it is not known
 * @param line the line in it, counted from 1; 0 when it is not known
 */
public record ConfigPlace(String file, int line) {
  /** No place: the setting is in no file, or missing. */
  public static final ConfigPlace UNKNOWN = new ConfigPlace("", 0);

  /**
   * The place that the configuration library recorded: a file, a resource, or the name that a text was parsed under.
   */
  public static ConfigPlace of(ConfigOrigin origin) {
    return new ConfigPlace(file(origin), Math.max(0, origin.lineNumber()));
  }

  private static String file(ConfigOrigin origin) {
    if (origin.filename() != null) {
      return origin.filename();
    }
    if (origin.resource() != null) {
      return origin.resource();
    }
    return origin.description().replaceFirst(": \\d+(-\\d+)?$", "");
  }

  /** {@code file:line}, as compilers write it. */
  @Override
  public String toString() {
    return line > 0 ? file + ":" + line : file;
  }
}
