package io.kvasir.app;

import org.jspecify.annotations.Nullable;

/** The version of Kvasir that runs. */
final class BuildVersion {
  private BuildVersion() {}

  /** The jar's version; null when the classes are in none. */
  static @Nullable String ofJar() {
    return BuildVersion.class.getPackage().getImplementationVersion();
  }
}
