package io.kvasir.app.config;

import org.jspecify.annotations.Nullable;

/** The version of Kvasir that runs. */
public final class BuildVersion {
  private BuildVersion() {}

  /** The jar's version; null when the classes are in none. */
  public static @Nullable String ofJar() {
    return BuildVersion.class.getPackage().getImplementationVersion();
  }
}
